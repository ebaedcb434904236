import { objectForbidden } from '../../api/errors/index.ts';
import type { Pod, PodSpec, RuntimeClass, Toleration } from '../../api/generated/types.ts';
import { isKind } from '../../api/kinds/index.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { compareQuantity } from '../../api/meta/quantity.ts';
import { andThen, type Eventually } from '../eventually.ts';
import type { Admission } from './admission.ts';

/** Reads a runtime class, never older than the last acknowledged write. */
export type RuntimeClassReader = (name: string) => Eventually<RuntimeClass | undefined>;

/**
 * As in Kubernetes: a new pod that names a class gets what running it takes (spec.overhead), and goes only where the
 * class can run. It is refused when there is no such class, when it contradicts the class, and when it claims an
 * overhead that no class gives.
 */
export function runtimeClassRules(readClass: RuntimeClassReader): Admission {
  return {
    reads: { Pod: ['RuntimeClass'] },
    create(kind, object) {
      if (!isKind(kind, 'Pod')) return undefined;
      const pod = object as Pod;
      const name = pod.spec?.runtimeClassName;
      return andThen(name ? readClass(name) : undefined, (found) => applyClass(pod, found));
    },
  };
}

function applyClass({ metadata, spec }: Pod, found: RuntimeClass | undefined): void {
  if (!spec) return;
  const refuse = (why: string) => objectForbidden('pods', metadata?.name ?? '', `pod rejected: ${why}`);
  const name = spec.runtimeClassName;
  if (name && !found) throw refuse(`RuntimeClass "${name}" not found`);
  const problem = applyOverhead(spec, found) ?? applyScheduling(spec, found);
  if (problem !== undefined) throw refuse(problem);
}

function applyOverhead(spec: PodSpec, found: RuntimeClass | undefined): string | undefined {
  const fixed = found?.overhead?.podFixed;
  const own = spec.overhead ?? {};
  const isSaid = Object.keys(own).length > 0;
  if (fixed === undefined) return isSaid ? 'Pod Overhead set without corresponding RuntimeClass defined Overhead' : undefined;
  const names = new Set([...Object.keys(fixed), ...Object.keys(own)]);
  const same = [...names].every((name) => {
    const [one, other] = [fixed[name], own[name]];
    return one !== undefined && other !== undefined && compareQuantity(one, other) === 0;
  });
  if (isSaid && !same) return "Pod's Overhead doesn't match RuntimeClass's defined Overhead";
  spec.overhead = { ...fixed };
  return undefined;
}

function applyScheduling(spec: PodSpec, found: RuntimeClass | undefined): string | undefined {
  const { nodeSelector = {}, tolerations = [] } = found?.scheduling ?? {};
  for (const [key, value] of Object.entries(nodeSelector)) {
    const own = spec.nodeSelector?.[key];
    if (own !== undefined && own !== value)
      return `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`;
  }
  if (Object.keys(nodeSelector).length > 0) spec.nodeSelector = { ...spec.nodeSelector, ...nodeSelector };
  const known = spec.tolerations ?? [];
  const missing = tolerations.filter((toleration: Toleration) => !known.some((each) => equalValues(each, toleration)));
  if (missing.length > 0) spec.tolerations = [...known, ...missing];
  return undefined;
}
