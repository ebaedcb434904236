import { type ObservedContainer, sandboxName } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { createInheritedLabels, type InheritedLabels } from './inherited-labels.ts';
import { label } from './labels.ts';
import { type Inspection, type ListEntry, observeEntry, observeInspection } from './observe.ts';
import type { OomKills } from './oom-kills.ts';

/**
 * The node's containers. One list call gives labels and states; times, exit codes and process ids need an inspect each,
 * so these are kept per container until its state changes or an event names it: a list where nothing changed is one
 * call.
 */
export interface Inventory {
  list(podUid?: string): Promise<ObservedContainer[]>;
  /** Asks the engine about one container, or undefined when it is gone. By id or name. */
  inspect(id: string): Promise<Inspection | undefined>;
  /** Asks, keeps, and returns it as observed; throws `not-found` when it is gone. */
  observe(id: string): Promise<ObservedContainer>;
  /** Invalidates what was known of a container before this time (default: now): the next list inspects it again. */
  forget(id: string, atMs?: number): void;
  forgetAll(): void;
  /** The engine's networks that a container has a place in: none once it has ended, as it was last seen. */
  networksOf(id: string): readonly string[];
  /**
   * While a container is being created its inspect would wait for the start to end: lists say "created" until the
   * returned function is called.
   */
  starting(id: string): () => void;
}

interface Kept {
  /** The time of the request, by the clock shared with the engine. */
  readonly askedAtMs: number;
  readonly engineState: string;
  readonly container: ObservedContainer;
}

/** The engine lists these as networks of a container, which has no place in them. */
const placeless = new Set(['host', 'none']);
const inspectsAtOnce = 8;
// A hanging inspect (a stuck runtime) must not block the list of all others.
const inspectTimeoutMs = 5_000;

export interface Beside {
  readonly oomKills: Pick<OomKills, 'has'>;
  /** By which digest the image of a container was pulled. */
  imageDigest?(imageId: string, reference: string): Promise<string | undefined>;
}

export function createInventory(engine: Engine, nodeName: string, beside: Beside): Inventory {
  return new ObservedInventory(engine, nodeName, beside);
}

class ObservedInventory implements Inventory {
  readonly #engine: Engine;
  readonly #nodeName: string;
  readonly #beside: Beside;
  readonly #inherited: InheritedLabels;
  readonly #kept = new Map<string, Kept>();
  readonly #inCreation = new Set<string>();
  readonly #networks = new Map<string, readonly string[]>();
  // Counts what was forgotten, so that an inspect that was under way meanwhile is not kept.
  readonly #generations = new Map<string, number>();
  #allGeneration = 0;

  constructor(engine: Engine, nodeName: string, beside: Beside) {
    this.#engine = engine;
    this.#nodeName = nodeName;
    this.#beside = beside;
    this.#inherited = createInheritedLabels(engine, nodeName);
  }

  async list(podUid?: string): Promise<ObservedContainer[]> {
    const labelled = await this.#engine.call<ListEntry[]>({
      method: 'GET',
      path: '/containers/json',
      query: { all: 1, filters: { label: labelFilters(this.#nodeName, podUid) } },
      action: 'list containers',
    });
    const entries = await this.#inherited.without(labelled);
    for (const { Id, State, NetworkSettings } of entries) this.#noteNetworks(Id, State, NetworkSettings);
    if (podUid === undefined) this.#dropGone(new Set(entries.map((entry) => entry.Id)));
    const observed = await mapBounded(entries, inspectsAtOnce, (entry) => this.#observeListed(entry));
    return observed.filter((container) => container !== undefined);
  }

  async inspect(id: string): Promise<Inspection | undefined> {
    try {
      const inspection = await this.#engine.call<Inspection>({
        method: 'GET',
        path: `/containers/${encodeURIComponent(id)}/json`,
        action: `inspect container ${id}`,
        timeoutMs: inspectTimeoutMs,
      });
      this.#noteNetworks(inspection.Id, inspection.State.Status, inspection.NetworkSettings);
      return inspection;
    } catch (error) {
      if (error instanceof RuntimeError && error.code === 'not-found') return undefined;
      throw error;
    }
  }

  async observe(id: string): Promise<ObservedContainer> {
    const container = await this.#refresh(id);
    if (container === undefined) throw new RuntimeError('not-found', `inspect container ${id}: it is gone`);
    return container;
  }

  forget(id: string, atMs?: number): void {
    // The event of our own start comes after its container was looked at: that look still holds.
    if (atMs !== undefined && (this.#kept.get(id)?.askedAtMs ?? 0) > atMs) return;
    this.#kept.delete(id);
    this.#generations.set(id, (this.#generations.get(id) ?? 0) + 1);
  }

  forgetAll(): void {
    this.#kept.clear();
    this.#allGeneration++;
  }

  networksOf(id: string): readonly string[] {
    return this.#networks.get(id) ?? [];
  }

  starting(id: string): () => void {
    this.#inCreation.add(id);
    return () => this.#inCreation.delete(id);
  }

  #generationOf(id: string): string {
    return `${this.#allGeneration}/${this.#generations.get(id) ?? 0}`;
  }

  #noteNetworks(id: string, state: string, settings: Inspection['NetworkSettings']): void {
    const names = Object.keys(settings?.Networks ?? {}).filter((name) => !placeless.has(name));
    if (state === 'running' && names.length > 0) this.#networks.set(id, names);
    else this.#networks.delete(id);
  }

  /** The engine misses kills for memory near the start and the end of a container. */
  #withOomKill(container: ObservedContainer): ObservedContainer {
    const failed = container.exitCode !== undefined && container.exitCode !== 0 && container.startedAt !== undefined;
    return failed && !container.oomKilled && this.#beside.oomKills.has(container.id)
      ? { ...container, oomKilled: true }
      : container;
  }

  async #refresh(id: string): Promise<ObservedContainer | undefined> {
    const generation = this.#generationOf(id);
    const askedAtMs = Date.now();
    const inspection = await this.inspect(id);
    if (inspection === undefined) return undefined;
    const observed = this.#withOomKill(observeInspection(inspection));
    const isSandbox = observed.containerName === sandboxName;
    const digest = isSandbox ? undefined : await this.#beside.imageDigest?.(observed.imageId, observed.image);
    const container = digest === undefined ? observed : { ...observed, imageDigest: digest };
    if (generation === this.#generationOf(id)) this.#kept.set(id, { askedAtMs, engineState: inspection.State.Status, container });
    return container;
  }

  async #observeListed(entry: ListEntry): Promise<ObservedContainer | undefined> {
    const known = this.#kept.get(entry.Id);
    if (known !== undefined && known.engineState === entry.State) return known.container;
    if (this.#inCreation.has(entry.Id) || entry.State === 'removing') return observeEntry(entry);
    try {
      return await this.#refresh(entry.Id);
    } catch (error) {
      if (error instanceof RuntimeError && error.code === 'timeout') return observeEntry(entry);
      throw error;
    }
  }

  #dropGone(present: ReadonlySet<string>): void {
    for (const id of this.#kept.keys()) if (!present.has(id) && !this.#inCreation.has(id)) this.#kept.delete(id);
    for (const id of this.#generations.keys()) if (!present.has(id)) this.#generations.delete(id);
    for (const id of this.#networks.keys()) if (!present.has(id) && !this.#inCreation.has(id)) this.#networks.delete(id);
  }
}

export function labelFilters(nodeName: string, podUid: string | undefined): string[] {
  const filters = [`${label.node}=${nodeName}`];
  if (podUid !== undefined) filters.push(`${label.podUid}=${podUid}`);
  return filters;
}

async function mapBounded<T, R>(items: readonly T[], atOnce: number, map: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await map(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return results;
}
