import type { FieldViolation } from '../errors/api-error.ts';
import { invalidValue, notSupported, required } from '../errors/violations.ts';
import { ipVersion } from '../meta/ip.ts';

/**
 * Small checks that add to a list of violations. `at` is the parent's path and `name` what follows it (".image"), so
 * that a good object, which is the rule, costs no text.
 */
export type Violations = FieldViolation[];

/** A rule from api/meta/names.ts: adds a violation when there is one. */
export function checkRule(out: Violations, at: string, name: string, value: unknown, rule: string | undefined): void {
  if (rule !== undefined) out.push(invalidValue(at + name, value, rule));
}

export function checkRequired(out: Violations, at: string, name: string, value: unknown): void {
  if (value === undefined || value === '') out.push(required(at + name));
}

/** A value must be one of the known ones, if it is set. */
export function checkOneOf(out: Violations, at: string, name: string, value: string | undefined, known: readonly string[]): void {
  if (value !== undefined && value !== '' && !known.includes(value)) out.push(notSupported(at + name, value, known));
}

/** A number must lie between the bounds, if it is set. */
export function checkRange(
  out: Violations,
  at: string,
  name: string,
  value: number | undefined,
  least: number,
  most = Infinity,
): void {
  if (value === undefined || (value >= least && value <= most)) return;
  const why =
    most !== Infinity
      ? `must be between ${least} and ${most}`
      : least === 0
        ? 'must not be negative'
        : `must be at least ${least}`;
  out.push(invalidValue(at + name, value, why));
}

export function checkPort(out: Violations, at: string, name: string, value: number | undefined): void {
  checkRange(out, at, name, value, 1, 65535);
}

export function checkIp(out: Violations, at: string, name: string, value: string | undefined): void {
  if (value && ipVersion(value) === 0) out.push(invalidValue(at + name, value, 'must be an IP address'));
}

/** A path that stays below the place it starts from. */
export function checkRelativePath(out: Violations, at: string, name: string, value: string): void {
  if (value.startsWith('/')) out.push(invalidValue(at + name, value, 'must be a relative path'));
  checkNoBacksteps(out, at, name, value);
}

export function checkNoBacksteps(out: Violations, at: string, name: string, value: string): void {
  if (value.split('/').includes('..')) out.push(invalidValue(at + name, value, 'must not contain ".."'));
}

/** The members of a message that are set; inlined sources are messages of which one must be. */
export function setMembers(message: object | undefined): string[] {
  const names: string[] = [];
  if (message) for (const name of Object.keys(message)) if ((message as Record<string, unknown>)[name] != null) names.push(name);
  return names;
}

/** Exactly one member must be set. */
export function checkExactlyOne(out: Violations, at: string, message: object | undefined, what: string): void {
  const set = setMembers(message);
  if (set.length === 0) out.push(required(at, `must have ${what}`));
  else if (set.length > 1) out.push(invalidValue(at, set.join(', '), `must have only ${what}`));
}
