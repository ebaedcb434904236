import { invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { EnvFromSource, EnvVar, EnvVarSource, ObjectFieldSelector, ResourceFieldSelector } from '../../generated/types.ts';
import { dataKeyError, envNameError, qualifiedNameError } from '../../meta/names.ts';
import { checkExactlyOne, checkRequired, checkRule, type Violations } from '../checks.ts';
import { amountError } from '../quantities.ts';

/** What a container may read of its own pod, by the way it reads it. */
const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const VOLUME_FIELDS = ['metadata.name', 'metadata.namespace', 'metadata.uid', 'metadata.labels', 'metadata.annotations'];
const SUBSCRIPT = /^metadata\.(labels|annotations)\['([^']*)'\]$/;
const RESOURCE = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/;

export function checkEnv(out: Violations, at: string, env: readonly EnvVar[] | undefined): void {
  env?.forEach(({ name = '', value = '', valueFrom }, i) => {
    if (name === '') out.push(required(`${at}.env[${i}].name`));
    else {
      const rule = envNameError(name);
      if (rule) out.push(invalidValue(`${at}.env[${i}].name`, name, rule));
    }
    if (valueFrom) checkEnvSource(out, `${at}.env[${i}].valueFrom`, value, valueFrom);
  });
}

function checkEnvSource(out: Violations, at: string, value: string, source: EnvVarSource): void {
  checkExactlyOne(out, at, source, 'one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef');
  if (value !== '') out.push(invalidValue(at, '', 'may not be set together with a value that is not empty'));
  checkDownwardRef(out, at, source, 'env');
  for (const name of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const reference = source[name];
    if (!reference) continue;
    checkRequired(out, at, `.${name}.name`, reference.localObjectReference?.name);
    if (!reference.key) out.push(required(`${at}.${name}.key`));
    else checkRule(out, at, `.${name}.key`, reference.key, dataKeyError(reference.key));
  }
  const file = source.fileKeyRef;
  if (file) for (const name of ['volumeName', 'path', 'key'] as const) checkRequired(out, at, `.fileKeyRef.${name}`, file[name]);
}

interface DownwardRef {
  fieldRef?: ObjectFieldSelector | undefined;
  resourceFieldRef?: ResourceFieldSelector | undefined;
}

/** References to the pod's own fields and resources, in variables and in files. */
export function checkDownwardRef(
  out: Violations,
  at: string,
  { fieldRef, resourceFieldRef }: DownwardRef,
  use: 'env' | 'volume',
): void {
  if (fieldRef)
    checkFieldPath(out, `${at}.fieldRef.fieldPath`, fieldRef.fieldPath ?? '', use === 'env' ? ENV_FIELDS : VOLUME_FIELDS);
  if (!resourceFieldRef) return;
  const { resource = '', divisor, containerName } = resourceFieldRef;
  if (resource === '') out.push(required(`${at}.resourceFieldRef.resource`));
  else if (!RESOURCE.test(resource)) {
    out.push(
      invalidValue(
        `${at}.resourceFieldRef.resource`,
        resource,
        'must be limits or requests, a dot, and cpu, memory, ephemeral-storage or hugepages-SIZE',
      ),
    );
  }
  if (use === 'volume') checkRequired(out, at, '.resourceFieldRef.containerName', containerName);
  if (divisor) checkRule(out, at, '.resourceFieldRef.divisor', divisor.string, amountError(divisor));
}

function checkFieldPath(out: Violations, field: string, path: string, known: readonly string[]): void {
  if (path === '') {
    out.push(required(field));
    return;
  }
  const subscript = SUBSCRIPT.exec(path);
  if (subscript)
    checkRule(
      out,
      field,
      '',
      path,
      qualifiedNameError(subscript[1] === 'annotations' ? subscript[2]!.toLowerCase() : subscript[2]!),
    );
  else if (!known.includes(path))
    out.push(notSupported(field, path, [...known, "metadata.labels['KEY']", "metadata.annotations['KEY']"]));
}

export function checkEnvFrom(out: Violations, at: string, sources: readonly EnvFromSource[] | undefined): void {
  sources?.forEach(({ prefix, configMapRef, secretRef }, i) => {
    const item = `${at}.envFrom[${i}]`;
    if (prefix) checkRule(out, item, '.prefix', prefix, envNameError(prefix));
    checkExactlyOne(out, item, { configMapRef, secretRef }, 'one of configMapRef, secretRef');
    if (configMapRef) checkRequired(out, item, '.configMapRef.name', configMapRef.localObjectReference?.name);
    if (secretRef) checkRequired(out, item, '.secretRef.name', secretRef.localObjectReference?.name);
  });
}
