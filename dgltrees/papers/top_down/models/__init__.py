"""Language models over trees and sentences, trees drawn from them, and a dependency parser."""
