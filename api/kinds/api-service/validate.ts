import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { APIService, APIServiceSpec } from '../../generated/types.ts';
import { hasCertificate } from '../../meta/authority.ts';
import { subdomainNameError } from '../../meta/names.ts';
import { checkPort, checkRequired, checkRule, type Violations } from '../checks.ts';
import { apiServiceName } from './meaning.ts';

const mostGroupPriority = 20_000;
const mostVersionPriority = 1_000;
const versionForm = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const mostVersionLength = 63;

/** Kubernetes' rules. */
export function validateApiService({ metadata, spec = {} }: APIService): FieldViolation[] {
  const out: Violations = [];
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = spec;
  const name = apiServiceName(group, version);
  if (metadata?.name && metadata.name !== name)
    out.push(invalidValue('metadata.name', metadata.name, `must be \`spec.version+"."+spec.group\`: "${name}"`));
  if (group === '' && version !== 'v1')
    out.push(required('spec.group', 'only v1 may have an empty group and it better be legacy kube'));
  if (group !== '') checkRule(out, 'spec', '.group', group, subdomainNameError(group));
  if (version.length > mostVersionLength || !versionForm.test(version))
    out.push(
      invalidValue(
        'spec.version',
        version,
        'must be lower-case letters, digits and "-", begin with a letter and end with no "-"',
      ),
    );
  checkPriority(out, 'spec.groupPriorityMinimum', groupPriorityMinimum, mostGroupPriority);
  checkPriority(out, 'spec.versionPriority', versionPriority, mostVersionPriority);
  if (spec.service) checkRemote(out, spec);
  else checkLocal(out, spec);
  return out;
}

function checkPriority(out: Violations, field: string, value: number, most: number): void {
  if (value <= 0 || value > most) out.push(invalidValue(field, value, `must be positive and at most ${most}`));
}

const bytesOf = ({ caBundle }: APIServiceSpec): number => caBundle?.length ?? 0;

function checkLocal(out: Violations, spec: APIServiceSpec): void {
  if (bytesOf(spec) > 0)
    out.push(invalidValue('spec.caBundle', `${bytesOf(spec)} bytes`, 'local APIServices may not have a caBundle'));
  if (spec.insecureSkipTLSVerify)
    out.push(invalidValue('spec.insecureSkipTLSVerify', true, 'local APIServices may not have insecureSkipTLSVerify'));
}

function checkRemote(out: Violations, spec: APIServiceSpec): void {
  const { service = {} } = spec;
  checkRequired(out, 'spec.service', '.namespace', service?.namespace);
  checkRequired(out, 'spec.service', '.name', service?.name);
  checkPort(out, 'spec.service', '.port', service?.port);
  if (spec.insecureSkipTLSVerify && bytesOf(spec) > 0)
    out.push(invalidValue('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present'));
  // Manifests that a program fills in later say a line break.
  const authorities = Buffer.from(spec.caBundle ?? []).toString('latin1');
  if (authorities.trim() !== '' && !hasCertificate(authorities))
    out.push(invalidValue('spec.caBundle', `${bytesOf(spec)} bytes`, 'must be certificates as PEM, encoded as base64'));
}

const statuses = ['True', 'False', 'Unknown'];

export function validateApiServiceStatus({ status }: APIService): FieldViolation[] {
  return (status?.conditions ?? []).flatMap(({ status: value = '' }, i) =>
    statuses.includes(value) ? [] : [notSupported(`status.conditions[${i}].status`, value, statuses)],
  );
}
