import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { Container, Pod, Quantity, ResourceRequirements } from '../../generated/types.ts';
import { firstDifference } from '../../meta/equal.ts';
import { equalQuantity, isQuantity } from '../../meta/quantity.ts';
import type { Violations } from '../checks.ts';
import type { Subresource } from '../kind.ts';
import { qosClass } from './qos.ts';
import { isMirror } from './static-pods.ts';

/** The resources whose amounts can change while a container runs. */
export const resizableResources = ['cpu', 'memory'] as const;

const ONLY_THESE = 'only cpu and memory resources are mutable';

/**
 * The resize subresource of pods, for changed CPU and memory. Takes the resources of containers and init containers and
 * leaves the rest as it is; what it refuses, by Kubernetes' rules, is in `validateResize`.
 */
export const podResize: Subresource<Pod> = {
  method: 'UpdateResize',
  take(sent, previous) {
    const spec = { ...previous.spec };
    if (spec.containers) spec.containers = withResources(spec.containers, sent.spec?.containers);
    if (spec.initContainers) spec.initContainers = withResources(spec.initContainers, sent.spec?.initContainers);
    return { ...previous, spec };
  },
  validate: validateResize,
};

/** Other containers than before are handed on as they are, to be refused. */
function withResources(before: readonly Container[], sent: readonly Container[] = []): Container[] {
  if (!areSame(before, sent)) return [...sent];
  return before.map(({ resources: _, resizePolicy: __, ...rest }, i) => {
    const { resources, resizePolicy } = sent[i]!;
    return { ...rest, ...(resources && { resources }), ...(resizePolicy && { resizePolicy }) };
  });
}

function areSame(before: readonly Container[], next: readonly Container[]): boolean {
  return next.length === before.length && before.every(({ name }, i) => name === next[i]!.name);
}

function validateResize(next: Pod, previous: Pod): FieldViolation[] {
  const out: Violations = [];
  if (isMirror(previous)) out.push(forbidden('metadata', 'static pods cannot be resized'));
  for (const part of ['containers', 'initContainers'] as const) {
    const [list, before] = [next.spec?.[part] ?? [], previous.spec?.[part] ?? []];
    if (areSame(before, list)) {
      for (let i = 0; i < list.length; i++) checkContainer(out, `spec.${part}[${i}]`, list[i]!, before[i]!, part);
    } else out.push(forbidden(`spec.${part}`, `${part} may not be added, removed, renamed or reordered on resize`));
  }
  const quality = qosClass(next);
  if (out.length === 0 && quality !== (previous.status?.qosClass || qosClass(previous)))
    out.push(invalidValue('spec', quality, 'Pod QOS Class may not change as a result of resizing'));
  return out;
}

function checkContainer(
  out: Violations,
  at: string,
  next: Container,
  before: Container,
  part: 'containers' | 'initContainers',
): void {
  const policy = firstDifference(next.resizePolicy, before.resizePolicy);
  if (policy !== undefined) out.push(forbidden(`${at}.resizePolicy${policy}`, ONLY_THESE));
  const [resources, was] = [next.resources ?? {}, before.resources ?? {}];
  const other = firstDifference(withoutResizable(resources), withoutResizable(was));
  if (other !== undefined) out.push(forbidden(`${at}.resources${other}`, ONLY_THESE));
  if (part === 'initContainers' && before.restartPolicy !== 'Always' && !equalResources(resources, was))
    out.push(forbidden(`${at}.resources`, 'resources for non-sidecar init containers are immutable'));
  for (const kind of ['limits', 'requests'] as const)
    for (const name of resizableResources)
      if (was[kind]?.[name] !== undefined && resources[kind]?.[name] === undefined)
        out.push(forbidden(`${at}.resources.${kind}[${name}]`, `resource ${kind} cannot be removed`));
}

function withoutResizable(resources: ResourceRequirements): ResourceRequirements {
  const { limits, requests, ...rest } = resources;
  return { ...rest, limits: others(limits), requests: others(requests) };
}

function others(amounts: Readonly<Record<string, Quantity>> = {}): Record<string, Quantity> {
  const { cpu: _, memory: __, ...rest } = amounts;
  return rest;
}

/** Whether two containers have the same CPU and memory, however it is written. */
export function equalResources(a: ResourceRequirements | undefined, b: ResourceRequirements | undefined): boolean {
  return (['limits', 'requests'] as const).every((kind) =>
    resizableResources.every((name) => {
      const [one, other] = [a?.[kind]?.[name], b?.[kind]?.[name]];
      if (one === undefined || other === undefined) return one === other;
      return (
        one.string === other.string ||
        (isQuantity(one.string ?? '') && isQuantity(other.string ?? '') && equalQuantity(one, other))
      );
    }),
  );
}
