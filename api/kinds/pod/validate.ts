import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { Pod, PodSpec } from '../../generated/types.ts';
import { qualifiedNameError, subdomainNameError } from '../../meta/names.ts';
import { longestSeconds } from '../../meta/time.ts';
import { checkOneOf, checkRange, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkFieldSupport, lazyFieldSupport } from '../field-support.ts';
import { podFields, podLevelLimits } from './fields.ts';
import { podNotes } from './notes.ts';
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
