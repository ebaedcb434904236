import type { Container, Pod, Probe } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import type { ContainerHealth, HealthFailure } from '../pod/health.ts';
import type { PodEvents } from '../pod/pod-events.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import type { Check, CheckTarget } from './check.ts';
import type { CheckResult } from './check-result.ts';
import { type Count, hasFailed } from './count-result.ts';
import type { Hooks } from './hooks.ts';
import { initialDelayMs, type ProbeKind, type ProbeWorker, startProbe } from './probe-worker.ts';

export interface WatchOptions {
  readonly check: Check;
  readonly hooks: Pick<Hooks, 'postStart'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly random: () => number;
}

/** The API's status of this very container, from which a restarted agent continues. */
export interface KnownHealth {
  readonly started: boolean;
  readonly ready: boolean;
}

export interface WatchInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly observed: ObservedContainer;
  readonly podIP: string;
  /** Undefined for a container that the API does not say to run: it is new. */
  readonly known: KnownHealth | undefined;
  /** Called when the health of the container may have changed. */
  readonly onChange: () => void;
}

/**
 * The hook and the probes of one container, from its start to its end:
 *
 *     postStart --ok--> startup probe --succeeds--> readiness and liveness probes
 *         \--fails--> failed  \--fails--> failed           \--liveness fails--> failed
 *
 * After a failure `health` reports it until the container is stopped; there are no further checks.
 */
export class ContainerWatch {
  readonly #options: WatchOptions;
  readonly #input: WatchInput;
  readonly #workers = new Map<ProbeKind, ProbeWorker>();
  readonly #abort = new AbortController();
  #hooked = false;
  #started = false;
  #ready = false;
  #failed: HealthFailure | undefined;
  #going = false;
  podIP: string;

  constructor(options: WatchOptions, input: WatchInput) {
    this.#options = options;
    this.#input = input;
    this.podIP = input.podIP;
  }

  /** Begins; without a hook and without probes the container is started and ready at once. */
  begin(): void {
    const { container, known } = this.#input;
    const hook = container.lifecycle?.postStart;
    if (hook === undefined || known !== undefined) this.#afterHook();
    else void this.#runHook();
  }

  health(): ContainerHealth {
    return {
      started: this.#started,
      ready: this.#started && this.#ready,
      ...(this.#hooked || this.#failed !== undefined ? {} : { starting: true }),
      ...(this.#failed === undefined || this.#going ? {} : { failed: this.#failed }),
    };
  }

  /** The pod goes: nothing of it is restarted any more, but whether it is ready is still worth knowing. */
  stopKilling(): void {
    this.#going = true;
    for (const kind of ['startup', 'liveness'] as const) this.#stop(kind);
  }

  /** The container has ended, or the watch was stopped. */
  end(): void {
    this.#abort.abort();
    for (const kind of [...this.#workers.keys()]) this.#stop(kind);
  }

  async #runHook(): Promise<void> {
    const ok = await this.#options.hooks.postStart(this.#target(), this.#abort.signal);
    if (this.#abort.signal.aborted) return;
    if (ok) this.#afterHook();
    else this.#failed = { probe: 'hook', message: 'FailedPostStartHook' };
    this.#input.onChange();
  }

  #afterHook(): void {
    this.#hooked = true;
    const { container, known } = this.#input;
    const startup = container.startupProbe;
    if (startup === undefined || known?.started === true) this.#afterStartup();
    else this.#probe('startup', startup, false);
  }

  #afterStartup(): void {
    this.#started = true;
    const { readinessProbe, livenessProbe } = this.#input.container;
    this.#ready = readinessProbe === undefined || this.#input.known?.ready === true;
    if (readinessProbe !== undefined) this.#probe('readiness', readinessProbe, this.#ready);
    if (livenessProbe !== undefined && !this.#going) this.#probe('liveness', livenessProbe, true);
  }

  #probe(kind: ProbeKind, probe: Probe, verdict: boolean): void {
    const { check, clock, random } = this.#options;
    const { handler = {} } = probe;
    const worker = startProbe({
      probe,
      verdict,
      ...this.#firstLook(kind, probe),
      check: (timeoutMs, signal) => check(handler, this.#target(), timeoutMs, signal),
      clock,
      random,
      onResult: (result, count) => this.#took(kind, probe, result, count),
    });
    this.#workers.set(kind, worker);
  }

  /**
   * A new container is looked at as soon as its probe allows, for a good word only; liveness, which has none to give,
   * waits for some part of a period. Containers that an agent finds when it starts again are spread over the period.
   */
  #firstLook(kind: ProbeKind, probe: Probe): { firstInMs: number; eager: boolean } {
    const { clock, random } = this.#options;
    const { observed, known } = this.#input;
    const nowMs = clock.now();
    const delayMs = initialDelayMs(probe, (observed.startedAt ?? observed.createdAt).getTime(), nowMs);
    const partMs = random() * (probe.periodSeconds ?? 10) * 1000;
    const immediate = (probe.initialDelaySeconds ?? 0) === 0;
    if (known !== undefined || (kind === 'liveness' && immediate)) return { firstInMs: Math.max(delayMs, partMs), eager: false };
    return { firstInMs: delayMs, eager: immediate };
  }

  #took(kind: ProbeKind, probe: Probe, result: CheckResult, count: Count): void {
    this.#tell(kind, result);
    const { container, onChange } = this.#input;
    const before = `${this.#started} ${this.#ready} ${this.#failed !== undefined}`;
    if (kind === 'readiness') this.#ready = count.verdict;
    else if (hasFailed(count, probe)) this.#fail(kind, container.name ?? '', probe);
    else if (kind === 'startup' && count.verdict) {
      this.#stop('startup');
      this.#afterStartup();
    }
    if (before !== `${this.#started} ${this.#ready} ${this.#failed !== undefined}`) onChange();
  }

  #fail(kind: 'startup' | 'liveness', name: string, { terminationGracePeriodSeconds }: Probe): void {
    this.#stop(kind);
    this.#failed = {
      probe: kind,
      message: `Container ${name} failed ${kind} probe`,
      ...(terminationGracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: terminationGracePeriodSeconds }),
    };
  }

  #tell(kind: ProbeKind, { outcome, output }: CheckResult): void {
    const { events } = this.#options;
    const { pod, container } = this.#input;
    const title = `${kind[0]!.toUpperCase()}${kind.slice(1)} probe`;
    if (outcome === 'failure') events(pod, 'Warning', 'Unhealthy', `${title} failed: ${output}`, container.name);
    if (outcome === 'warning') events(pod, 'Warning', 'ProbeWarning', `${title} warning: ${output}`, container.name);
    if (outcome === 'error')
      events(pod, 'Warning', 'Unhealthy', `${title} errored and resulted in unknown state: ${output}`, container.name);
  }

  #stop(kind: ProbeKind): void {
    this.#workers.get(kind)?.stop();
    this.#workers.delete(kind);
  }

  #target(): CheckTarget {
    const { pod, container, observed } = this.#input;
    return { pod, container, containerId: observed.id, podIP: this.podIP };
  }
}
