"""The tree of a function's loops, and how often what is inside them is taken to run."""

from __future__ import annotations

from loopwright.ir.loops import loops, weights
from loopwright.ir.parse import parse


def code(text: str):
    return parse(f"function f(%n: i64, %c: bool)\n{text}\nret\nend").code


def test_loops_are_found_with_those_around_them() -> None:
    found = loops(
        code("""
        %i = for 0, %n, 1
          if %c
            while
              %1 = gt.i64 %n, 3
            do %1
            end
          end
          loop
          end
        end
        block
          loop
          end
        end
        """)
    )
    assert [(one.head, one.end, one.depth) for one in found] == [(0, 9, 1), (2, 5, 2), (7, 8, 2), (11, 12, 1)]
    assert found[1].parent is found[0] and found[2].parent is found[0] and found[0].parent is None and found[3].parent is None


def test_what_leads_out_of_loops_runs_once() -> None:
    given = code("""
        block
          %i = for 0, %n, 1
            loop
              %1 = add.i64 %n, 1
              if %c
                %2 = add.i64 %n, 2
                br 3
              end
              block
                %3 = add.i64 %n, 3
                br 2
              end
              br 0
            end
          end
        end
    """)
    rows = [(instr.op.name, weight) for instr, weight in zip(given, weights(given), strict=True)]
    assert rows[0] == ("block", 1.0) and rows[1] == ("for", 1.0) and rows[2] == ("loop", 8.0)
    # Before ``br 3``, which leaves both loops; before ``br 2``, which goes on with the outer one.
    assert [weight for name, weight in rows if name == "add"] == [64.0, 1.0, 8.0]
