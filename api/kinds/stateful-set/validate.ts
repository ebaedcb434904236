import { canonicalMessage } from '../../codec/canonical.ts';
import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { PersistentVolumeClaim, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy } from '../../generated/types.ts';
import { differencesByMember } from '../../meta/equal.ts';
import { labelNameError } from '../../meta/names.ts';
import { checkOneOf, checkRange, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkIntOrPercent, isNothing } from '../int-or-percent.ts';
import { validateAnnotations, validateLabels } from '../metadata.ts';
import { validatePersistentVolumeClaim } from '../persistent-volume-claim/validate.ts';
import { checkCollisionCount, checkCounts, checkReplicaCounts, checkSelectorAndTemplate } from '../workload-checks.ts';

const POLICIES = ['OrderedReady', 'Parallel'];
const STRATEGIES = ['RollingUpdate', 'OnDelete'];
const RETENTION = ['Retain', 'Delete'];

export function validateStatefulSet({ spec = {} }: StatefulSet): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'spec', spec, ['replicas', 'minReadySeconds', 'revisionHistoryLimit']);
  checkRange(out, 'spec', '.ordinals.start', spec.ordinals?.start, 0);
  checkRequired(out, 'spec', '.podManagementPolicy', spec.podManagementPolicy);
  checkOneOf(out, 'spec', '.podManagementPolicy', spec.podManagementPolicy, POLICIES);
  if (spec.serviceName) checkRule(out, 'spec', '.serviceName', spec.serviceName, labelNameError(spec.serviceName));
  checkStrategy(out, spec.updateStrategy ?? {});
  const { whenDeleted = '', whenScaled = '' } = spec.persistentVolumeClaimRetentionPolicy ?? {};
  checkOneOf(out, 'spec.persistentVolumeClaimRetentionPolicy', '.whenDeleted', whenDeleted, RETENTION);
  checkOneOf(out, 'spec.persistentVolumeClaimRetentionPolicy', '.whenScaled', whenScaled, RETENTION);
  const claims = spec.volumeClaimTemplates ?? [];
  checkClaims(out, claims);
  checkSelectorAndTemplate(out, spec, { kind: 'StatefulSet', claims: claims.map(({ metadata }) => metadata?.name ?? '') });
  return out;
}

function checkStrategy(out: Violations, { type, rollingUpdate }: StatefulSetUpdateStrategy): void {
  const at = 'spec.updateStrategy';
  if (!STRATEGIES.includes(type ?? '')) out.push(notSupported(`${at}.type`, type, STRATEGIES));
  if (type === 'OnDelete' && rollingUpdate)
    out.push(invalidValue(`${at}.rollingUpdate`, type, "only allowed for updateStrategy 'RollingUpdate'"));
  if (type !== 'RollingUpdate' || !rollingUpdate) return;
  const { partition, maxUnavailable } = rollingUpdate;
  checkRange(out, at, '.rollingUpdate.partition', partition, 0);
  checkIntOrPercent(out, `${at}.rollingUpdate.maxUnavailable`, maxUnavailable);
  if (maxUnavailable && isNothing(maxUnavailable)) out.push(invalidValue(`${at}.rollingUpdate.maxUnavailable`, 0, 'cannot be 0'));
}

/** Each has a name of its own, which is also that of a volume, and asks for what a claim may ask for. */
function checkClaims(out: Violations, claims: readonly PersistentVolumeClaim[]): void {
  const seen = new Set<string>();
  claims.forEach((claim, i) => {
    const at = `spec.volumeClaimTemplates[${i}]`;
    const { name = '', labels, annotations } = claim.metadata ?? {};
    if (name === '') out.push(required(`${at}.metadata.name`));
    else checkRule(out, at, '.metadata.name', name, labelNameError(name));
    if (name !== '' && seen.has(name)) out.push(duplicate(`${at}.metadata.name`, name));
    seen.add(name);
    if (labels) out.push(...validateLabels(`${at}.metadata.labels`, labels));
    if (annotations) out.push(...validateAnnotations(`${at}.metadata.annotations`, annotations));
    for (const violation of validatePersistentVolumeClaim(claim)) out.push({ ...violation, field: `${at}.${violation.field}` });
  });
}

const CHANGEABLE = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
] as const;
const LIST = CHANGEABLE.map((name) => `'${name}'`);
const UNCHANGEABLE = `updates to statefulset spec for fields other than ${LIST.slice(0, -1).join(', ')} and ${LIST.at(-1)} are forbidden`;

/** What the names of the pods and their claims follow from stays. */
export function validateStatefulSetUpdate(next: StatefulSet, previous: StatefulSet): FieldViolation[] {
  const differences = differencesByMember(lastingPart(next), lastingPart(previous));
  // A quantity is a text in a message of its own; its field is the quantity.
  return differences.map((difference) => forbidden(`spec${difference.replace(/\.string$/, '')}`, UNCHANGEABLE));
}

function lastingPart({ spec = {} }: StatefulSet): StatefulSetSpec {
  const rest: StatefulSetSpec = { ...spec };
  for (const name of CHANGEABLE) delete rest[name];
  return canonicalMessage('berth.apps.v1.StatefulSetSpec', rest);
}

const COUNTS = [
  'replicas',
  'readyReplicas',
  'currentReplicas',
  'updatedReplicas',
  'availableReplicas',
  'observedGeneration',
  'collisionCount',
] as const;

export function validateStatefulSetStatus({ status = {} }: StatefulSet, previous: StatefulSet): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'status', status, COUNTS);
  checkReplicaCounts(out, status, ['currentReplicas', 'updatedReplicas']);
  checkCollisionCount(out, status, previous.status);
  return out;
}
