import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue, notSupported } from '../../errors/violations.ts';
import type { Namespace } from '../../generated/types.ts';
import { type PodSecurityLevel, podSecurityLevels } from '../pod/pod-security.ts';

const prefix = 'pod-security.kubernetes.io/';
const modes = ['enforce', 'warn', 'audit'] as const;
const version = /^(latest|v1\.\d{1,3})$/;

/** How a namespace wants its pods judged; a word that is no level counts as the strictest. */
export interface PodSecurityPolicy {
  readonly enforce: PodSecurityLevel;
  readonly warn: PodSecurityLevel;
}

export function podSecurityPolicy(namespace: Namespace): PodSecurityPolicy {
  const labels = namespace.metadata?.labels ?? {};
  const levelOf = (mode: string): PodSecurityLevel => {
    const value = labels[prefix + mode];
    if (value === undefined) return 'privileged';
    return podSecurityLevels.find((level) => level === value) ?? 'restricted';
  };
  return { enforce: levelOf('enforce'), warn: levelOf('warn') };
}

/** An unknown level would protect from nothing, or from everything. */
export function podSecurityLabelErrors({ metadata }: Namespace): FieldViolation[] {
  const labels = metadata?.labels ?? {};
  return modes.flatMap((mode) => {
    const [level, since] = [labels[prefix + mode], labels[`${prefix}${mode}-version`]];
    const field = (name: string): string => `metadata.labels[${prefix}${name}]`;
    return [
      ...(level !== undefined && !podSecurityLevels.some((each) => each === level)
        ? [notSupported(field(mode), level, podSecurityLevels)]
        : []),
      ...(since !== undefined && !version.test(since)
        ? [invalidValue(field(`${mode}-version`), since, 'must be "latest" or of the form "v1.34"')]
        : []),
    ];
  });
}

/** What is accepted and does less than it says. */
export function podSecurityLabelWarnings({ metadata }: Namespace): string[] {
  const labels = metadata?.labels ?? {};
  const warnings: string[] = [];
  if (labels[`${prefix}audit`] !== undefined)
    warnings.push(`metadata.labels[${prefix}audit]: pods are not marked in the audit log; use ${prefix}warn to be told`);
  for (const mode of ['enforce', 'warn']) {
    const since = labels[`${prefix}${mode}-version`];
    if (since !== undefined && since !== 'latest')
      warnings.push(`metadata.labels[${prefix}${mode}-version]: pods are judged by the latest version, not by ${since}`);
  }
  return warnings;
}
