"""Language models over trees and sequences, and what is drawn or scored with them."""
