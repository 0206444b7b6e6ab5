"""Language models over trees and sequences, and sampling and compression with them."""
