"""What TeX's commands for single signs look like: letters, operators, accents."""

from __future__ import annotations

# Accents are combining characters, put after the letter.
ACCENTS = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "r": "\u030a", "k": "\u0328", "d": "\u0323",
    "b": "\u0331", "hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "vec": "\u20d7", "dot": "\u0307",
    "ddot": "\u0308", "check": "\u030c",
}  # fmt: skip
SIGNS = {
    "quad": " ", "qquad": " ", "enspace": " ", "thinspace": " ", "space": " ", "newline": " ",
    "linebreak": " ", "par": " ", "nobreakspace": " ",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε", "zeta": "ζ",
    "eta": "η", "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "ϕ", "varphi": "φ",
    "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ",
    "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "ell": "ℓ", "hbar": "ℏ",
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "mp": "∓", "ast": "*", "star": "⋆", "circ": "∘",
    "bullet": "•", "oplus": "⊕", "otimes": "⊗", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠",
    "ne": "≠", "approx": "≈", "sim": "~", "simeq": "≃", "equiv": "≡", "propto": "∝", "ll": "≪", "gg": "≫",
    "lt": "<", "gt": ">", "to": "→", "rightarrow": "→", "leftarrow": "←", "leftrightarrow": "↔",
    "Rightarrow": "⇒", "Leftarrow": "⇐", "Leftrightarrow": "⇔", "uparrow": "↑", "downarrow": "↓",
    "mapsto": "↦", "implies": "⇒", "iff": "⇔", "infty": "∞", "partial": "∂", "nabla": "∇", "sum": "∑",
    "prod": "∏", "int": "∫", "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆", "cup": "∪", "cap": "∩",
    "emptyset": "∅", "forall": "∀", "exists": "∃", "neg": "¬", "land": "∧", "lor": "∨", "mid": "|",
    "vert": "|", "Vert": "‖", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈",
    "rceil": "⌉", "ldots": "…", "dots": "…", "cdots": "…", "textellipsis": "…", "checkmark": "✓",
    "cmark": "✓", "xmark": "✗", "dagger": "†", "ddagger": "‡", "S": "§", "P": "¶", "copyright": "©",
    "textregistered": "®", "texttrademark": "™", "degree": "°", "textdegree": "°", "prime": "′", "angle": "∠",
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł",
    "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "th": "þ", "pounds": "£", "euro": "€", "textbackslash": "\\",
    "textasciitilde": "~", "textasciicircum": "^", "textbar": "|", "textless": "<", "textgreater": ">",
    "textunderscore": "_", "textquotesingle": "'", "textquotedblleft": "“", "textquotedblright": "”",
    "textendash": "–", "textemdash": "—", "textpm": "±", "texttimes": "×", "textmu": "μ", "LaTeX": "LaTeX",
    "TeX": "TeX", "backslash": "\\", "lbrace": "{", "rbrace": "}", "percent": "%", "log": "log", "exp": "exp",
    "min": "min", "max": "max", "sin": "sin", "cos": "cos", "tan": "tan", "arg": "arg", "lim": "lim",
    "Pr": "Pr", "ln": "ln", "det": "det", "sup": "sup", "inf": "inf", "dim": "dim", "deg": "deg",
}  # fmt: skip
# Commands whose arguments are no text, and how many of them; what follows may be.
HIDDEN = {
    "addcontentsline": 3, "addlinespace": 0, "addtolength": 2, "autocite": 1, "begin": 1,
    "bibliographystyle": 1, "captionsetup": 1, "cellcolor": 1, "cite": 1, "citealp": 1, "citealt": 1,
    "citeauthor": 1, "citenum": 1, "citep": 1, "Citep": 1, "Citet": 1, "citet": 1, "citeyear": 1,
    "citeyearpar": 1, "cline": 1, "cmidrule": 1, "color": 1, "colorbox": 1, "columncolor": 1, "end": 1,
    "fontsize": 2, "footnote": 1, "footnotemark": 0, "footnotetext": 1, "hphantom": 1, "href": 1,
    "hskip": 0, "hspace": 1, "hypersetup": 1, "includegraphics": 1, "index": 1, "label": 1, "linewidth": 0,
    "makecell": 0, "multicolumn": 2, "multirow": 2, "nocite": 1, "pagestyle": 1, "parbox": 1,
    "parencite": 1, "phantom": 1, "raisebox": 1, "renewcommand": 2, "resizebox": 2, "rotatebox": 1,
    "rowcolor": 1, "rule": 2, "scalebox": 1, "selectfont": 0, "setcounter": 2, "setlength": 2,
    "specialrule": 3, "textcite": 1, "textcolor": 1, "thanks": 1, "thispagestyle": 1, "todo": 1,
    "vphantom": 1, "vskip": 0, "vspace": 1,
}  # fmt: skip
