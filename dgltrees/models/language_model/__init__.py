"""Language models over trees and sequences, and what is made with them: samples, shorter texts."""
