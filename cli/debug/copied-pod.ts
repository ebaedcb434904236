import { badRequest } from '../../api/errors/index.ts';
import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import { parsePairs } from '../generators/pairs.ts';
import { type DebugFlags, debugContainer } from './debug-container.ts';

/** What only the original is: where it runs, and what the server wrote about it. */
const OWN = ['nodeName', 'ephemeralContainers'] as const;

export interface CopyInput {
  readonly pod: JsonObject;
  readonly flags: DebugFlags & { readonly copyTo: string };
  readonly words: readonly string[];
  /** The name of the container that is added or changed. */
  readonly container: string;
}

/**
 * A copy of a pod to look into, as `kubectl debug --copy-to` makes it: without labels, so that nothing sends it work,
 * without probes, with one container added or changed.
 */
export function copiedPod({ pod, flags, words, container }: CopyInput): JsonObject {
  const { name: _, namespace } = objectOf(pod.metadata);
  const spec: JsonObject = { ...objectOf(pod.spec) };
  for (const field of OWN) if (field !== 'nodeName' || !flags.sameNode) delete spec[field];
  if (flags.shareProcesses) spec.shareProcessNamespace = true;
  const images = new Map(parsePairs('--set-image', flags.setImage ?? []));
  const before = listOf(spec.containers).map(withoutProbes);
  spec.containers = withImages(withDebugger(before, debugContainer(container, words, flags)), images);
  if (spec.initContainers) spec.initContainers = listOf(spec.initContainers).map(withoutProbes);
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: flags.copyTo, ...(namespace && { namespace }) }, spec };
}

/** The named container is changed when the pod has it, otherwise it is one more. */
function withDebugger(containers: readonly JsonObject[], added: JsonObject): JsonObject[] {
  const has = containers.some(({ name }) => name === added.name);
  if (!has) {
    if (added.image === undefined) return [...containers];
    return [...containers, added];
  }
  return containers.map((each) => (each.name === added.name ? { ...each, ...added } : each));
}

function withImages(containers: readonly JsonObject[], images: ReadonlyMap<string, string>): JsonObject[] {
  for (const name of images.keys())
    if (name !== '*' && !containers.some((each) => each.name === name))
      throw badRequest(`--set-image names container "${name}", which the pod does not have`);
  return containers.map((each) => {
    const image = images.get(String(each.name)) ?? images.get('*');
    return image === undefined ? each : { ...each, image };
  });
}

function withoutProbes({ livenessProbe: _, readinessProbe: __, startupProbe: ___, ...rest }: JsonObject): JsonObject {
  return rest;
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value as JsonObject) ? (value as JsonObject) : {};
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? (value as JsonObject[]) : [];
}
