import { setTimeout as delay } from 'node:timers/promises';
import type { ObservedContainer, RuntimeEvent } from '../runtime.ts';
import type { Engine } from './engine.ts';
import { label } from './labels.ts';
import { parseLines } from './lines.ts';

/** An event as the engine writes it, one JSON object a line. */
interface EngineEvent {
  readonly Action?: string;
  readonly Actor?: { readonly ID?: string; readonly Attributes?: Readonly<Record<string, string>> };
  readonly timeNano?: number;
}

export interface EventsOptions {
  readonly engine: Engine;
  readonly nodeName: string;
  /** What there is, to name every pod after a gap. */
  readonly list: () => Promise<ObservedContainer[]>;
  /** Called each time the engine is there again, the first time too: it may have been killed meanwhile. */
  readonly onConnect?: () => void;
  /** Called for each event before it is passed on, and once for everything after a gap. */
  readonly onChange: (containerId: string | undefined, atMs: number | undefined) => void;
  /** A process of this container was OOM-killed. May arrive after the container's exit event, which then lacked it. */
  readonly onOomKill: (containerId: string) => void;
  /** A command in a container has ended. No pod has changed by that. */
  readonly onExecExit?: (exec: string, exitCode: number) => void;
  readonly warn: (message: string) => void;
  readonly random?: () => number;
}

// Only what the agent does not know by itself: what it started it has seen start, and the periodic list shows what
// others start. Of the many events of probes only the last: it saves a question.
const execExit = 'exec_die';
const actions = ['die', 'oom', 'destroy', 'pause', 'unpause', execExit];
const firstDelayMs = 100;
const lastDelayMs = 10_000;
// The engine's time and ours may differ a little, and events of the same moment come in any order.
const overlapMs = 2_000;

/**
 * The engine's events of this node's containers, for as long as the signal allows:
 * reconnects by itself and names every pod after each gap.
 */
export async function* watchEvents(options: EventsOptions, signal: AbortSignal): AsyncGenerator<RuntimeEvent> {
  let lastMs: number | undefined;
  let delayMs = firstDelayMs;
  let gap = false;
  while (!signal.aborted) {
    try {
      const stream = await openStream(options, lastMs, signal);
      delayMs = firstDelayMs;
      options.onConnect?.();
      if (gap) {
        options.onChange(undefined, undefined);
        yield* everyPod(await options.list());
      }
      for await (const event of parseLines<EngineEvent>(stream)) {
        const atMs = event.timeNano === undefined ? undefined : event.timeNano / 1e6;
        lastMs = atMs ?? lastMs;
        if (event.Action === execExit) {
          const { execID, exitCode } = event.Actor?.Attributes ?? {};
          if (execID !== undefined && exitCode !== undefined) options.onExecExit?.(execID, Number(exitCode));
          continue;
        }
        const hint = hintOf(event);
        if (hint === undefined) continue;
        options.onChange(hint.containerId, atMs);
        if (event.Action === 'oom') options.onOomKill(hint.containerId);
        yield hint;
      }
      if (!signal.aborted) options.warn('the engine closed its events stream: reconnecting');
    } catch (error) {
      if (signal.aborted) return;
      options.warn(
        `events: ${error instanceof Error ? error.message : String(error)}; trying again in ${Math.round(delayMs)} ms`,
      );
    }
    if (signal.aborted) return;
    gap = true;
    options.engine.forgetVersion();
    await pause(delayMs * (0.5 + (options.random ?? Math.random)() / 2), signal);
    delayMs = Math.min(delayMs * 2, lastDelayMs);
  }
}

function openStream(options: EventsOptions, lastMs: number | undefined, signal: AbortSignal) {
  return options.engine.stream({
    method: 'GET',
    path: '/events',
    query: {
      filters: { type: ['container'], label: [`${label.node}=${options.nodeName}`], event: actions },
      ...(lastMs === undefined ? {} : { since: ((lastMs - overlapMs) / 1000).toFixed(3) }),
    },
    action: 'watch engine events',
    signal,
  });
}

function hintOf(event: EngineEvent): RuntimeEvent | undefined {
  const podUid = event.Actor?.Attributes?.[label.podUid];
  const containerId = event.Actor?.ID;
  return podUid === undefined || containerId === undefined ? undefined : { podUid, containerId };
}

function everyPod(containers: readonly ObservedContainer[]): RuntimeEvent[] {
  const byPod = new Map<string, RuntimeEvent>();
  for (const { podUid, id } of containers) if (!byPod.has(podUid)) byPod.set(podUid, { podUid, containerId: id });
  return [...byPod.values()];
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch {
    // Aborted: the loop sees it itself.
  }
}
