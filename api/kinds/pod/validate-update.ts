import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { Container, ContainerStatus, Pod, PodSpec, Toleration } from '../../generated/types.ts';
import { firstDifference } from '../../meta/equal.ts';
import { checkIp, type Violations } from '../checks.ts';
import { checkGatesRemoved, checkPlaceNarrowed, isGated, withNarrowerPlace } from './gates.ts';
import { checkMirrorUpdate, isMirror } from './static-pods.ts';

const CHANGEABLE =
  "a pod's spec cannot change, but for containers' images, activeDeadlineSeconds, and tolerations added or their seconds " +
  '(and CPU and memory through the subresource resize); ' +
  'for anything else make the pod anew, e.g. with "berth replace --force -f FILE"';

/** What an update may do to a pod: nearly nothing, because its containers run already. */
export function validatePodUpdate(next: Pod, previous: Pod): FieldViolation[] {
  const out: Violations = [...checkMirrorUpdate(next, previous)];
  const [spec, before] = [next.spec ?? {}, previous.spec ?? {}];
  if (isMirror(previous)) return [...out, ...mirrorChanges(spec, before)];
  checkDeadline(out, spec, before);
  checkTolerations(out, spec.tolerations ?? [], before.tolerations ?? []);
  checkGatesRemoved(out, spec, before);
  const gated = isGated(previous);
  if (gated) checkPlaceNarrowed(out, spec, before);
  const allowed = withChangesOf(gated ? withNarrowerPlace(before, spec) : before, spec);
  for (const name of new Set([...Object.keys(spec), ...Object.keys(before)] as (keyof PodSpec)[])) {
    const inner = firstDifference(spec[name], allowed[name]);
    if (inner !== undefined) out.push(forbidden(`spec.${name}${inner}`, CHANGEABLE));
  }
  return out;
}

/** Nothing of a mirror pod can change: it shows what a file says. */
function mirrorChanges(next: PodSpec, before: PodSpec): FieldViolation[] {
  const inner = firstDifference(next, before);
  const why = `a mirror pod shows what a file on node "${before.nodeName}" says: change that file`;
  return inner === undefined ? [] : [forbidden(`spec${inner}`, why)];
}

/** The old spec with everything of the new one that may change. */
function withChangesOf(before: PodSpec, next: PodSpec): PodSpec {
  return {
    ...before,
    containers: withImages(before.containers, next.containers),
    initContainers: withImages(before.initContainers, next.initContainers),
    activeDeadlineSeconds: next.activeDeadlineSeconds,
    tolerations: next.tolerations,
    schedulingGates: next.schedulingGates,
    terminationGracePeriodSeconds: graceOf(before, next),
  } as PodSpec;
}

function withImages(before: readonly Container[] | undefined, next: readonly Container[] | undefined): Container[] | undefined {
  return before?.map((container, i) => (next?.[i]?.image ? { ...container, image: next[i].image } : container));
}

/** Kubernetes lets a negative period, which older versions stored, be mended to 1. */
function graceOf(before: PodSpec, next: PodSpec): number | undefined {
  const mended = (before.terminationGracePeriodSeconds ?? 0) < 0 && next.terminationGracePeriodSeconds === 1;
  return mended ? 1 : before.terminationGracePeriodSeconds;
}

function checkDeadline(out: Violations, next: PodSpec, before: PodSpec): void {
  const [now, was] = [next.activeDeadlineSeconds, before.activeDeadlineSeconds];
  if (was === undefined || now === was) return;
  if (now === undefined) out.push(forbidden('spec.activeDeadlineSeconds', 'cannot be taken away'));
  else if (now > was)
    out.push(invalidValue('spec.activeDeadlineSeconds', now, `must be less than or equal to its value, ${was}`));
}

/** What was tolerated stays tolerated; only for how long may change. */
function checkTolerations(out: Violations, next: readonly Toleration[], before: readonly Toleration[]): void {
  const wordOf = ({ key = '', operator = '', value = '', effect = '' }: Toleration): string =>
    JSON.stringify([key, operator, value, effect]);
  const kept = new Set(next.map(wordOf));
  for (const old of before) {
    if (!kept.has(wordOf(old)))
      out.push(forbidden('spec.tolerations', `the toleration of "${old.key ?? ''}" cannot be taken away, only others added`));
  }
}

/** Rejects a container that runs again after it has ended for good, and invalid addresses. */
export function validatePodStatusUpdate(next: Pod, previous: Pod): FieldViolation[] {
  const out: Violations = checkMirrorUpdate(next, previous);
  const { status } = next;
  checkIp(out, 'status', '.hostIP', status?.hostIP);
  checkIp(out, 'status', '.podIP', status?.podIP);
  status?.podIPs?.forEach(({ ip }, i) => {
    checkIp(out, 'status', `.podIPs[${i}].ip`, ip);
  });
  const policy = previous.spec?.restartPolicy;
  if (policy === 'Always' || mayRestartAll(previous)) return out;
  const mayReturn = (exitCode: number): boolean => policy === 'OnFailure' && exitCode !== 0;
  checkStates(
    out,
    'status.containerStatuses',
    status?.containerStatuses,
    previous.status?.containerStatuses,
    (name, exitCode) => {
      const own = previous.spec?.containers?.find((container) => container.name === name);
      return own?.restartPolicy !== undefined || mayReturn(exitCode);
    },
  );
  return out;
}

/** Whether some end of a container restarts all, whatever their policies say. */
function mayRestartAll({ spec }: Pod): boolean {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some((container) =>
    container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  );
}

function checkStates(
  out: Violations,
  at: string,
  next: readonly ContainerStatus[] | undefined,
  before: readonly ContainerStatus[] | undefined,
  mayReturn: (name: string, exitCode: number) => boolean,
): void {
  next?.forEach(({ name = '', state }, i) => {
    const ended = before?.find((status) => status.name === name)?.state?.terminated;
    if (!ended || state?.terminated || mayReturn(name, ended.exitCode ?? 0)) return;
    out.push(forbidden(`${at}[${i}].state`, `container "${name}" has ended and may not be started again`));
  });
}
