"""Metrics of one running service, in a Prometheus registry of its own.

Code below the API does not get the registry passed in: the middleware sets the request's `Observation` in a
context variable, which tasks inherit, and `count_answer`, `stage` and `count_cache` use it. Outside a request
they do nothing. Labels are constants of ours and route templates, never ids, users or texts. Times are in
seconds.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import generate_latest

from app.answer import Answer
from app.tracing import span
from app.types import Degraded

FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 6.0)
"""Buckets of retrieval; its deadline is 6 s by default."""
SLOW = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Buckets of requests and of the wait for a first token."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNKNOWN = "unknown"
"""The route of requests whose path has none."""
OTHER = "other"
"""The method of requests whose method is none of METHODS."""
ALL = "all"
"""The source of a stage that all sources share."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Numbers that are read for each scrape."""

    jobs: Mapping[tuple[str, str], int]
    """By kind and state."""
    outbox: Mapping[str, int]
    """Entries that wait, by engine."""


class Metrics:
    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # they would double the series
        self.registry = registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=registry)

        # `labels`: their names, with blanks between them.
        def counter(name: str, labels: str, text: str) -> Counter:
            return Counter(name, text, labels.split(), registry=registry)

        def gauge(name: str, labels: str, text: str) -> Gauge:
            return Gauge(name, text, labels.split(), registry=registry)

        def histogram(name: str, labels: str, text: str, buckets: Sequence[float] = SLOW) -> Histogram:
            return Histogram(name, text, labels.split(), buckets=buckets, registry=registry)

        gauge("ibid_info", "version", "1; the service's version.").labels(version("ibid")).set(1)
        self._requests = counter(
            "ibid_http_requests", "method route status", "Requests that ended, by route template."
        )
        self._duration = histogram(
            "ibid_http_request_duration_seconds",
            "method route",
            "From the first byte of a request to the last of its response.",
        )
        self._first = histogram(
            "ibid_first_token_seconds", "endpoint", "From the question to the first text of its answer."
        )
        self._answers = counter(
            "ibid_answers", "endpoint finish_reason", "Answers that ended: stop, length, cancelled, or error."
        )
        self._tokens = counter(
            "ibid_model_tokens", "endpoint direction", "Tokens of answers: input (the prompt) and output."
        )
        self._degraded = counter("ibid_degraded", "source reason", "Entries in `degraded` of answers.")
        self._retrieval = histogram(
            "ibid_retrieval_seconds", "source stage", "Time of the stages of a search, by source.", FAST
        )
        self._cache = counter(
            "ibid_cache_requests",
            "cache result",
            "Look-ups in the caches of results and of query embeddings: hit or miss.",
        )
        self._limited = counter("ibid_rate_limited", "limit", "Requests refused with 429, by limit.")
        self._circuits = gauge(
            "ibid_breaker_open_circuits",
            "dependency",
            "Callers for whom a dependency is not asked, or probed again; 0: the breaker is closed.",
        )
        self._jobs = gauge("ibid_jobs", "kind state", "Jobs in the queue.")
        self._outbox = gauge(
            "ibid_outbox_entries", "engine", "Changes that an engine has yet to take; at most 10,001."
        )
        self._backlog = gauge("ibid_answers_waiting", "", "Answers that wait to be recorded.")
        self._lost = gauge("ibid_answers_lost", "", "Answers that could not be recorded since the start.")

    def count_request(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """`route`: the template; None if the path is unknown."""
        method, route = method_of(method), route or UNKNOWN
        self._requests.labels(method, route, str(status)).inc()
        self._duration.labels(method, route).observe(seconds)

    def count_answer(self, answer: Answer, first: float | None, *, asked: bool) -> None:
        """`first`: seconds to the first token. `asked`: False for a dry run, which asked no model."""
        self._answers.labels(answer.endpoint, str(answer.finish or "error")).inc()
        if first is not None:
            self._first.labels(answer.endpoint).observe(first)
        if asked:
            self._tokens.labels(answer.endpoint, "input").inc(answer.usage.prompt_tokens)
            self._tokens.labels(answer.endpoint, "output").inc(answer.usage.completion_tokens)
        self.count_degraded(answer.trace.degraded)

    def count_degraded(self, degraded: Iterable[Degraded]) -> None:
        for each in degraded:
            self._degraded.labels(each.source, each.reason).inc()

    def count_cache(self, cache: str, *, hit: bool) -> None:
        self._cache.labels(cache, "hit" if hit else "miss").inc()

    def count_limited(self, limit: str) -> None:
        self._limited.labels(limit).inc()

    def time_stage(self, source: str, stage: str, seconds: float) -> None:
        self._retrieval.labels(source, stage).observe(seconds)

    def set_gauges(
        self, standing: Standing | None, *, circuits: Mapping[str, int], waiting: int, lost: int
    ) -> None:
        """What a scrape shows as it is now. `standing` None: Postgres does not answer."""
        for dependency, count in circuits.items():
            self._circuits.labels(dependency).set(count)
        self._jobs.clear()
        self._outbox.clear()
        for (kind, state), count in (standing.jobs if standing else {}).items():
            self._jobs.labels(kind, state).set(count)
        for engine, count in (standing.outbox if standing else {}).items():
            self._outbox.labels(engine).set(count)
        self._backlog.set(waiting)
        self._lost.set(lost)

    def rendered(self) -> bytes:
        """All of it in Prometheus' text format. Takes some milliseconds."""
        return generate_latest(self.registry)


def method_of(method: str) -> str:
    """OTHER for a method that HTTP does not know, of which there are any number."""
    return method if method in METHODS else OTHER


@dataclass(slots=True)
class Observation:
    """What is observed of one request."""

    metrics: Metrics
    tokens: int = 0
    """Tokens of its answers so far."""


CURRENT: ContextVar[Observation | None] = ContextVar("observation", default=None)


def count_answer(answer: Answer, first: float | None, *, asked: bool) -> None:
    if now := CURRENT.get():
        now.metrics.count_answer(answer, first, asked=asked)
        if asked:
            now.tokens += answer.usage.prompt_tokens + answer.usage.completion_tokens


def count_cache(cache: str, *, hit: bool) -> None:
    if now := CURRENT.get():
        now.metrics.count_cache(cache, hit=hit)


@contextmanager
def stage(name: str, source: str = ALL) -> Iterator[None]:
    """Times a stage of retrieval, also one that fails or is cancelled; with traces a span."""
    now = CURRENT.get()
    if now is None:
        yield
        return
    began = time.perf_counter()
    try:
        with span(f"retrieval {name}", {"ibid.source": source}):
            yield
    finally:
        now.metrics.time_stage(source, name, time.perf_counter() - began)
