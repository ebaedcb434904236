import { join } from 'node:path';
import type { ReadSmallFile } from '../small-file.ts';
import { type ContainerFigures, clearFigures, createFigures, figure } from './figures.ts';
import {
  type CgroupPlace,
  computePlace,
  computeRootPlace,
  type Hierarchies,
  parseHierarchies,
  parseProcessCgroups,
} from './places.ts';
import type { Source } from './sources.ts';
import { version1 } from './version-1.ts';
import { version2 } from './version-2.ts';

export interface ContainerReading {
  /** Valid until the next read. */
  readonly figures: ContainerFigures;
  readonly path: string;
}

/**
 * Reads what containers use from their cgroups. Whatever is not there, or vanishes meanwhile, is absent;
 * nothing is ever thrown.
 */
export interface ContainerReader {
  /** `all`: every figure, otherwise those for samples that are taken often. Undefined when the container has ended. */
  read(container: { readonly id: string; readonly pid: number | undefined }, all: boolean): ContainerReading | undefined;
  /**
   * Every figure of the root cgroup: of the machine. Undefined inside of a container, which does not see it. A copy.
   */
  readWhole(): Float64Array | undefined;
  /** Forgets where the others were. */
  keepOnly(ids: ReadonlySet<string>): void;
}

interface Known {
  readonly pid: number;
  readonly place: CgroupPlace;
  readonly files: readonly OpenSource[];
}

/** A source where this container has it. */
interface OpenSource {
  readonly source: Source;
  readonly path: string;
}

export function createContainerReader(root: string, read: ReadSmallFile): ContainerReader {
  const known = new Map<string, Known>();
  const figures = createFigures();
  let hierarchies: Hierarchies | undefined;
  let whole: readonly OpenSource[] | undefined;

  function mounted(): Hierarchies {
    if (hierarchies !== undefined) return hierarchies;
    const text = read(join(root, 'proc/self/mountinfo'));
    const found = parseHierarchies(text ?? '');
    if (text !== undefined) hierarchies = found;
    return found;
  }

  function readInto(files: readonly OpenSource[], all: boolean): void {
    clearFigures(figures);
    for (const { source, path } of files) {
      if (!all && !source.often) continue;
      const text = read(path);
      if (text !== undefined) source.parse(text, figures);
    }
  }

  function find(id: string, pid: number): Known | undefined {
    const text = read(join(root, 'proc', String(pid), 'cgroup'));
    if (text === undefined) return undefined;
    const place = computePlace(root, mounted(), parseProcessCgroups(text), id);
    if (place === undefined) return undefined;
    const found = { pid, place, files: openSources(place, read) };
    known.set(id, found);
    return found;
  }

  return {
    read({ id, pid }, all) {
      if (pid === undefined) return undefined;
      const last = known.get(id);
      const at = last?.pid === pid ? last : find(id, pid);
      if (at === undefined) return undefined;
      readInto(at.files, all);
      const { values } = figures;
      // Its cgroup has gone: it has ended, or its first process was moved since.
      if (Number.isNaN(values[figure.cpuSeconds]!) && Number.isNaN(values[figure.memoryUsage]!)) {
        known.delete(id);
        return undefined;
      }
      return { figures, path: at.place.path };
    },
    readWhole() {
      whole ??= openSources(computeRootPlace(root, mounted()), read);
      if (whole.length === 0) return undefined;
      readInto(whole, true);
      return figures.values.slice();
    },
    keepOnly(ids) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    },
  };
}

/** The files that this machine has for a container, looked for once. */
function openSources({ folders }: CgroupPlace, read: ReadSmallFile): OpenSource[] {
  const found: OpenSource[] = [];
  for (const [version, sources] of [
    [1, version1],
    [2, version2],
  ] as const) {
    for (const source of sources) {
      const place = folders[source.controller];
      // Pressure stands in both lists, and is always in the unified hierarchy.
      const wanted = source.controller === 'pressure' ? (folders.memory ?? folders.cpuacct)?.version : place?.version;
      if (place === undefined || wanted !== version) continue;
      const path = source.files.map((file) => join(place.folder, file)).find((each) => read(each) !== undefined);
      if (path !== undefined) found.push({ source, path });
    }
  }
  return found;
}
