"""`make bench`: speed beside a floor of the same run, the stages of an answer, the page in a browser, growth.

usage: python -m bench [--quick] [--full] [--rounds N]
--quick: a look in two minutes; --full (FULL=1 make bench): growth up to 100,000 passages. Figures go to
`bench/out/` and are printed; `python -m bench.page` makes measurements/bench.md. They need a quiet machine.
"""

import argparse
import asyncio
from dataclasses import replace

from bench import browser, growth, page, speed
from bench.figures import keep
from bench.picture import draw


def options() -> argparse.Namespace:
    """The command's options."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a look in two minutes")
    parser.add_argument("--full", action="store_true", help="growth up to 100,000 passages")
    parser.add_argument("--rounds", type=int, default=0, help="rounds of each load")
    return parser.parse_args()


async def main() -> None:
    """Measure, keep, print."""
    asked = options()
    plan = speed.QUICK if asked.quick else speed.Plan()
    plan = replace(plan, rounds=asked.rounds or plan.rounds)
    found, parts = await speed.measure(plan)
    keep("speed", found)
    keep("stages", parts)
    draw(found)
    print(page.speed(found, parts), flush=True)
    if browser.PROGRAM:
        seen = await browser.measure(1 if asked.quick else browser.ROUNDS)
        keep("browser", seen)
        print(browser.section(seen), flush=True)
    if not asked.quick:
        grown = await growth.measure(full=asked.full)
        keep("growth", grown)
        print(page.growth(grown), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
