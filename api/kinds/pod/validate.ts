import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { Pod, PodSpec } from '../../generated/types.ts';
import { qualifiedNameError, subdomainNameError } from '../../meta/names.ts';
import { longestSeconds } from '../../meta/time.ts';
import { checkOneOf, checkRange, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkFieldSupport, lazyFieldSupport } from '../field-support.ts';
import { podFields, podLevelLimits } from './fields.ts';
import { checkContainers } from './validate-containers.ts';
import { checkDns, checkHostNames } from './validate-dns.ts';
import { checkAmounts, checkResources } from './validate-resources.ts';
import { checkScheduling } from './validate-scheduling.ts';
import { checkPodSecurity } from './validate-security.ts';
import { checkVolumes } from './validate-volumes.ts';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];

const support = lazyFieldSupport('berth.core.v1.Pod', podFields);

/** Kubernetes' rules for a pod's spec, and the fields that Berth refuses. Defaults have run. */
export function validatePod(pod: Pod): FieldViolation[] {
  const out: Violations = [];
  const spec = pod.spec ?? {};
  checkVolumes(out, spec.volumes);
  checkContainers(out, spec);
  checkTimes(out, spec);
  checkNames(out, spec);
  checkHostNames(out, spec);
  checkDns(out, spec);
  checkScheduling(out, spec);
  checkPodSecurity(out, spec);
  checkResources(out, 'spec.resources', spec.resources, spec);
  checkAmounts(out, 'spec.overhead', spec.overhead);
  checkHost(out, spec);
  const refused = refusedFields(pod).filter(({ field }) => field !== podLevelLimits);
  return refused.length === 0 ? out : out.concat(refused);
}

/** What is refused in new pods only. Limits that ask for nothing are passed over. */
export function checkNoPodLimits(pod: Pod): FieldViolation[] {
  if (Object.keys(pod.spec?.resources?.limits ?? {}).length === 0) return [];
  return refusedFields(pod).filter(({ field }) => field === podLevelLimits);
}

const refusedFields = (pod: Pod): FieldViolation[] => checkFieldSupport(support(), pod).violations;

/** One sentence for each field of an accepted pod that Berth does not act on. */
export function podWarnings(pod: Pod): string[] {
  return [...checkFieldSupport(support(), pod).warnings, ...podNotes(pod)];
}

/** What is accepted as in Kubernetes and most often a mistake, a sentence each that begins with the path. */
export function podNotes(pod: Pod): string[] {
  return [...namelessSecrets(pod), ...fractionalBytes(pod)];
}

/** Accepted as in Kubernetes, where templates leave such entries behind. */
function namelessSecrets(pod: Pod): string[] {
  return (pod.spec?.imagePullSecrets ?? []).flatMap(({ name }, i) =>
    name ? [] : [`spec.imagePullSecrets[${i}].name: invalid empty name "", the entry has no effect`],
  );
}

const byteAmounts = /^(memory|ephemeral-storage|hugepages-.*)$/;

/** Accepted as in Kubernetes: "128m" of memory is 0.128 bytes, and most often "128Mi" was meant. */
function fractionalBytes({ spec }: Pod): string[] {
  const amounts = (['initContainers', 'containers'] as const).flatMap((list) =>
    (spec?.[list] ?? []).flatMap(({ resources }, i) =>
      (['requests', 'limits'] as const).flatMap((part) =>
        Object.entries(resources?.[part] ?? {}).map(([name, { string: text = '' }]) => ({ list, i, part, name, text })),
      ),
    ),
  );
  return amounts
    .filter(({ name, text }) => byteAmounts.test(name) && isFractional(text))
    .map(
      ({ list, i, part, name, text }) =>
        `spec.${list}[${i}].resources.${part}[${name}] is a fractional byte value: "${text}"; "m" is a thousandth of a byte, "Mi" a mebibyte`,
    );
}

/** Runs before the pod is validated, for every pod that is written: a look at the text. */
function isFractional(text: string): boolean {
  if (!text.endsWith('m')) return false;
  return Number(text.slice(0, -1)) % 1_000 !== 0;
}

function checkTimes(out: Violations, spec: PodSpec): void {
  checkRange(out, 'spec', '.terminationGracePeriodSeconds', spec.terminationGracePeriodSeconds, 0, longestSeconds);
  checkRange(out, 'spec', '.activeDeadlineSeconds', spec.activeDeadlineSeconds, 1, longestSeconds);
}

function checkNames(out: Violations, spec: PodSpec): void {
  checkRequired(out, 'spec', '.restartPolicy', spec.restartPolicy);
  checkOneOf(out, 'spec', '.restartPolicy', spec.restartPolicy, RESTART_POLICIES);
  checkOneOf(out, 'spec', '.preemptionPolicy', spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  checkOneOf(out, 'spec', '.os.name', spec.os?.name, ['linux', 'windows']);
  for (const name of ['nodeName', 'serviceAccountName', 'runtimeClassName', 'priorityClassName', 'schedulerName'] as const) {
    if (spec[name]) checkRule(out, 'spec', `.${name}`, spec[name], subdomainNameError(spec[name]));
  }
  spec.readinessGates?.forEach(({ conditionType = '' }, i) => {
    checkRule(out, 'spec', `.readinessGates[${i}].conditionType`, conditionType, qualifiedNameError(conditionType));
  });
}

function checkHost(out: Violations, spec: PodSpec): void {
  if (spec.shareProcessNamespace && spec.hostPID) {
    out.push(invalidValue('spec.shareProcessNamespace', true, 'may not be set together with hostPID'));
  }
  if (spec.hostUsers === false) {
    for (const name of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
      if (spec[name]) out.push(forbidden(`spec.${name}`, 'may not be set when hostUsers is false'));
    }
  }
}
