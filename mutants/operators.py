"""All mutants of a source file: one small change each, found in its syntax tree and made in its text."""

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
MESSAGES = {"warn", "InputError", "FormatError", "EdgeError"}
"""Calls whose arguments are text for people."""
UNCHANGED = {"strict"}
"""Keywords that only guard against bugs: `zip(.., strict=True)`."""


class Mutant(NamedTuple):
    """A change of one file: the text from `begin` to `end` (line, byte) becomes `after`."""

    file: str
    operator: str
    begin: tuple[int, int]
    end: tuple[int, int]
    before: str
    after: str
    lines: range
    """Lines of the statement: tests that run one of them run the change. Empty outside of functions."""

    @property
    def name(self) -> str:
        """Return what tells this mutant from all others."""
        return f"{self.file}:{self.begin[0]}:{self.begin[1]}+{len(self.before)}:{self.operator}"

    def apply(self, text: str) -> str:
        """Return the changed text of the file."""
        lines = text.encode().split(b"\n")
        (first, left), (last, right) = self.begin, self.end
        middle = lines[first - 1][:left] + self.after.encode() + lines[last - 1][right:]
        return b"\n".join([*lines[: first - 1], middle, *lines[last:]]).decode()


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    """Yield all mutants of a file, in the order of its text.

    >>> [(each.before, each.after) for each in mutants_of("a.py", "def f(x):\\n    return x < 1\\n")]
    [('return x < 1', 'return None'), ('x < 1', '(x <= 1)'), ('1', '2')]
    """
    split = text.encode().split(b"\n")
    for node, lines, condition in _nodes(ast.parse(text), range(0)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        before = _segment(split, begin, end)
        for operator, after in [*_changes(node), *_negated(node, condition)]:
            yield Mutant(file, operator, begin, end, before, after, lines)


def _segment(lines: list[bytes], begin: tuple[int, int], end: tuple[int, int]) -> str:
    """Return the text between two places."""
    (first, left), (last, right) = begin, end
    if first == last:
        return lines[first - 1][left:right].decode()
    return b"\n".join([lines[first - 1][left:], *lines[first : last - 1], lines[last - 1][:right]]).decode()


def _nodes(node: ast.AST, lines: range, *, function: bool = False) -> Iterator[tuple[ast.expr | ast.stmt, range, bool]]:
    """Yield what is computed (no annotations, decorators, messages), the lines of its statement, and if a condition."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "format_spec"):
            continue
        inside = function or (isinstance(node, ast.FunctionDef | ast.Lambda) and name == "body")
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_skipped(child):
                continue
            around = _lines(child) if inside and isinstance(child, ast.stmt) else lines
            if isinstance(child, ast.expr | ast.stmt):
                yield child, around, name in ("test", "ifs")
            if not isinstance(child, ast.Raise):
                yield from _nodes(child, around, function=inside)


def _lines(statement: ast.stmt) -> range:
    """Return the lines of a statement; of one with a body, those of its head."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    first = body[0] if isinstance(body[0], ast.stmt) else body[0].pattern
    return range(statement.lineno, max(first.lineno, statement.lineno + 1))


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.keyword):
        return node.arg in UNCHANGED
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return called in MESSAGES
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _negated(node: ast.expr | ast.stmt, condition: bool) -> Iterator[tuple[str, str]]:
    """Yield the negation of a condition that no other change negates."""
    negated = isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    if condition and not negated and not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        yield "condition", f"(not ({ast.unparse(node)}))"


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield operator and new text for all changes of a node itself."""
    match node:
        case ast.Compare(ops=[first, *others]):
            yield "comparison", _text(node, ops=[COMPARISONS[type(first)](), *others])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", _text(node, op=ARITHMETIC[type(op)]())
        case ast.BoolOp(op=logical):
            yield "boolean", _text(node, op=ast.Or() if isinstance(logical, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "boolean", _text(operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "arithmetic", _text(operand)
        case ast.Constant(value=bool(value)):
            yield "constant", repr(not value)
        case ast.Constant(value=int(value)):
            yield "constant", repr(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", repr(2 * value or 1.0)
        case ast.Return(value=ast.expr() as returned) if ast.unparse(returned) != "None":
            yield "return", "return None"
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Delete() | ast.Expr(value=ast.Call() | ast.YieldFrom()):
            yield "deletion", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "deletion", "pass"
    if isinstance(node, ast.AugAssign):
        yield "deletion", "pass"


def _text(node: ast.expr | ast.stmt, **fields: object) -> str:
    """Return a node with other fields as text, which can stand where the node stood."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return f"({ast.unparse(changed)})" if isinstance(changed, ast.expr) else ast.unparse(changed)
