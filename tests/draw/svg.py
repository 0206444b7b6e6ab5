"""Reading a picture back: its elements, by their CSS class, and the numbers in them."""

import re
import xml.etree.ElementTree as ET

import numpy as np
from numpy.typing import NDArray

SVG = "{http://www.w3.org/2000/svg}"


def of_class(svg: str, name: str) -> list[ET.Element]:
    """All elements of a CSS class."""
    return [element for element in ET.fromstring(svg).iter() if element.get("class") == name]


def numbers(element: ET.Element) -> list[float]:
    """The numbers in the path ``d`` of an element."""
    return [float(number) for number in re.findall(r"-?[\d.]+", element.get("d", ""))]


def rectangle(element: ET.Element) -> list[float]:
    """Left, top, right and bottom of a rectangle, or of the first in a group."""
    rect = element if element.tag == f"{SVG}rect" else next(element.iter(f"{SVG}rect"))
    x, y, width, height = (float(rect.get(k, "nan")) for k in ("x", "y", "width", "height"))
    return [x, y, x + width, y + height]


def node_boxes(svg: str) -> NDArray[np.float64]:
    """``(n, 4)`` left, top, right and bottom of the boxes of all nodes."""
    return np.array([rectangle(node) for node in of_class(svg, "node")])


def canvas_size(svg: str) -> NDArray[np.float64]:
    """Width and height of the picture."""
    root = ET.fromstring(svg)
    return np.array([float(root.get(k, "nan")) for k in ("width", "height")])


def texts(element: ET.Element) -> list[str]:
    """The texts in an element, but for tooltips."""
    return [text.text or "" for text in element.iter(f"{SVG}text")]
