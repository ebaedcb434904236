import { badRequest } from '../../api/errors/index.ts';
import type { Container, Pod } from '../../api/generated/types.ts';
import { annotations } from '../../api/meta/well-known.ts';

/** The names of a pod's containers in the order they start: init containers, containers, ephemeral ones. */
export function containerNames(pod: Pod): string[] {
  return [...initNames(pod), ...mainNames(pod), ...ephemeralNames(pod)];
}

/**
 * The container that a command means, and what kubectl says when it had to choose.
 * Throws INVALID_ARGUMENT with the names that exist.
 */
export function chooseContainer(pod: Pod, wanted: string | undefined): { container: string; note: string | undefined } {
  const names = containerNames(pod);
  const name = pod.metadata?.name ?? '';
  if (wanted !== undefined) {
    if (names.includes(wanted)) return { container: wanted, note: undefined };
    const hint = wanted.includes(' ') ? '; a command with flags stands behind --' : '';
    throw badRequest(`pod "${name}" has no container "${wanted}": choose one of ${names.join(', ')}${hint}`);
  }
  const preferred = pod.metadata?.annotations?.[annotations.defaultContainer];
  if (preferred && names.includes(preferred)) return { container: preferred, note: undefined };
  const container = mainNames(pod)[0] ?? '';
  const all = [
    ...mainNames(pod),
    ...initNames(pod).map((each) => `${each} (init)`),
    ...ephemeralNames(pod).map((each) => `${each} (ephem)`),
  ];
  return { container, note: all.length > 1 ? `Defaulted container "${container}" out of: ${all.join(', ')}` : undefined };
}

/** The same, with the note on standard error unless it is not wanted. */
export function pickContainer(pod: Pod, wanted: string | undefined, quiet = false): string {
  const { container, note } = chooseContainer(pod, wanted);
  if (note !== undefined && !quiet) process.stderr.write(`${note}\n`);
  return container;
}

/** What the manifest says of a container. */
export function containerOf(pod: Pod, name: string): Container | undefined {
  const ephemeral = (pod.spec?.ephemeralContainers ?? []).map((each) => each.ephemeralContainerCommon as Container);
  const all = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? []), ...ephemeral];
  return all.find((container) => container.name === name);
}

const mainNames = (pod: Pod): string[] => (pod.spec?.containers ?? []).map((each) => each.name ?? '');
const initNames = (pod: Pod): string[] => (pod.spec?.initContainers ?? []).map((each) => each.name ?? '');
const ephemeralNames = (pod: Pod): string[] =>
  (pod.spec?.ephemeralContainers ?? []).map((each) => each.ephemeralContainerCommon?.name ?? '');
