import type { Pod } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import type { FoundFile } from './folder.ts';
import type { ReadManifest } from './manifest.ts';

/** What is known of a file. */
export interface KnownFile {
  /** As it was read last; undefined when it could not be. */
  readonly text: string | undefined;
  /** What it described last, also while it is broken now: half a file is no reason to end a pod. */
  readonly pod: Pod | undefined;
  /** What is wrong with it, a line each. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** The other file that has a pod of this name, which counts instead. */
  readonly yieldsTo?: string | undefined;
}

export type KnownFiles = ReadonlyMap<string, KnownFile>;

/**
 * What the files say now, beside what they said before. Of two files with a pod of the same name the one counts that
 * counted before, or else the first by name. Pure; `read` is called for changed texts only.
 */
export function computeKnown(
  found: ReadonlyMap<string, FoundFile>,
  before: KnownFiles,
  read: (text: string, file: string) => ReadManifest,
): Map<string, KnownFile> {
  const known = new Map([...found].map(([file, each]) => [file, knownFile(file, each, before.get(file), read)] as const));
  const owners = new Map<string, string>();
  const turns = [...known].sort(([a], [b]) => Number(isActive(before, b)) - Number(isActive(before, a)));
  for (const [file, { pod }] of turns) if (pod !== undefined && !owners.has(objectKey(pod))) owners.set(objectKey(pod), file);
  for (const [file, each] of known) {
    const owner = each.pod === undefined ? undefined : owners.get(objectKey(each.pod));
    if (owner === undefined || each.pod === undefined) continue;
    known.set(file, { ...each, yieldsTo: owner === file ? undefined : owner });
  }
  return known;
}

function isActive(before: KnownFiles, file: string): boolean {
  const known = before.get(file);
  return known?.pod !== undefined && known.yieldsTo === undefined;
}

/** The pods that are to run. */
export function podsIn(known: KnownFiles): Pod[] {
  return [...known.values()].flatMap(({ pod, yieldsTo }) => (pod === undefined || yieldsTo !== undefined ? [] : [pod]));
}

/** A problem of a file to report: the error and its consequence. */
export function complaintOf(file: string, { pod, problems, yieldsTo }: KnownFile): string | undefined {
  if (problems.length > 0) {
    const meanwhile = pod === undefined ? 'no pod runs for it' : `pod "${objectKey(pod)}" goes on as it was`;
    return `the file of a static pod is not right, ${meanwhile} until it is mended or removed: ${problems.join('; ')}`;
  }
  if (pod === undefined || yieldsTo === undefined) return undefined;
  return `${file}:1: describes pod "${objectKey(pod)}", as ${yieldsTo} does already: give it another name, or remove it`;
}

function knownFile(
  file: string,
  found: FoundFile,
  before: KnownFile | undefined,
  read: (text: string, file: string) => ReadManifest,
): KnownFile {
  const last = { text: found.text, pod: before?.pod, warnings: [] };
  if (found.text === undefined) return { ...last, problems: [found.problem] };
  if (before?.text === found.text) return before;
  const result = read(found.text, file);
  if (result.pod === undefined) return { ...last, problems: result.problems };
  // A file that is formatted otherwise but has the same content is the same pod, and keeps the time it was first seen.
  const pod = result.pod.metadata?.uid === before?.pod?.metadata?.uid ? before?.pod : result.pod;
  return { ...last, pod, problems: [], warnings: result.warnings };
}
