# SPDX-License-Identifier: BSD-3-Clause
"""Log-log line plots as SVG, with nothing but the standard library."""

import math
from xml.sax.saxutils import escape

COLOURS = ("#0b6e4f", "#c1440e", "#3454d1", "#7a5c00", "#6b2d73")
PANEL_WIDTH, PANEL_HEIGHT = 460, 334
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 64, 60
LEGENDS = 4  # in a row


def bytes_label(value):
    """1024 -> "1K"."""
    for suffix, shift in (("G", 30), ("M", 20), ("K", 10)):
        if value >= 1 << shift and value % (1 << shift) == 0:
            return f"{value >> shift}{suffix}"
    return str(value)


class Panel:
    """One pair of axes. `lines` maps a name to a list of (bytes, value); sizes of 0 are left out of a log axis."""

    def __init__(self, title, unit, lines):
        self.title, self.unit = title, unit
        self.lines = {name: sorted(p for p in points if p[0] > 0 and p[1] > 0)
                      for name, points in lines.items()}

    def draw(self, left, top):
        points = [p for line in self.lines.values() for p in line]
        if not points:
            return [f'<text x="{left + LEFT}" y="{top + TOP}">{escape(self.title)}: no data</text>']
        x_low, x_high = _powers([x for x, _ in points], 2)
        y_low, y_high = _powers([y for _, y in points], 10)
        width, height = PANEL_WIDTH - LEFT - RIGHT, PANEL_HEIGHT - TOP - BOTTOM

        def at_x(x):
            return left + LEFT + width * (math.log2(x) - x_low) / (x_high - x_low)

        def at_y(y):
            return top + TOP + height * (1 - (math.log10(y) - y_low) / (y_high - y_low))

        out = [f'<text x="{left + LEFT + width / 2:.1f}" y="{top + 20}" text-anchor="middle" '
               f'font-weight="bold">{escape(self.title)}</text>',
               f'<text x="{left + LEFT + width / 2:.1f}" y="{top + PANEL_HEIGHT - 18}" '
               f'text-anchor="middle">message size (bytes)</text>',
               f'<text transform="translate({left + 16},{top + TOP + height / 2:.1f}) rotate(-90)" '
               f'text-anchor="middle">{escape(self.unit)}</text>']
        step = max(1, (x_high - x_low + 7) // 8)
        for power in range(x_low, x_high + 1, step):
            x = at_x(2 ** power)
            out.append(_line(x, top + TOP, x, top + TOP + height, "#dddddd"))
            out.append(f'<text x="{x:.1f}" y="{top + TOP + height + 16}" '
                       f'text-anchor="middle">{bytes_label(2 ** power)}</text>')
        for power in range(y_low, y_high + 1):
            y = at_y(10 ** power)
            out.append(_line(left + LEFT, y, left + LEFT + width, y, "#dddddd"))
            out.append(f'<text x="{left + LEFT - 6}" y="{y + 4:.1f}" '
                       f'text-anchor="end">{10.0 ** power:g}</text>')
        out.append(f'<rect x="{left + LEFT}" y="{top + TOP}" width="{width}" height="{height}" '
                   f'fill="none" stroke="#444444"/>')
        for index, (name, line) in enumerate(self.lines.items()):
            colour = COLOURS[index % len(COLOURS)]
            path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in line)
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            out += [f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="2.5" fill="{colour}"/>'
                    for x, y in line]
            legend_x, legend_y = left + LEFT - 50 + index % LEGENDS * 108, top + 36 + index // LEGENDS * 15
            out.append(_line(legend_x, legend_y, legend_x + 20, legend_y, colour, 3))
            out.append(f'<text x="{legend_x + 25}" y="{legend_y + 4}">{escape(name)}</text>')
        return out


def _powers(values, base):
    """The smallest whole powers of `base` around all values; never equal."""
    low = math.floor(math.log(min(values), base) + 1e-9)
    high = math.ceil(math.log(max(values), base) - 1e-9)
    return low, max(high, low + 1)


def _line(x1, y1, x2, y2, colour, width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width}"/>')


def write(path, title, panels):
    """Writes the panels side by side, under one title."""
    width, height = PANEL_WIDTH * len(panels), PANEL_HEIGHT + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{width / 2}" y="20" text-anchor="middle" font-size="14">{escape(title)}</text>']
    for index, panel in enumerate(panels):
        out += panel.draw(index * PANEL_WIDTH, 30)
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
