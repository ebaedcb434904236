import type { FieldViolation } from '../errors/api-error.ts';
import { forbidden, invalidValue, notSupported, required } from '../errors/violations.ts';
import type { LabelSelector, PodTemplateSpec } from '../generated/types.ts';
import { equalValues } from '../meta/equal.ts';
import { compileLabelSelector, formatLabelSelector, formatLabels, type Labels } from '../meta/labels.ts';
import { checkRange, type Violations } from './checks.ts';
import { noDeadline } from './pod-template/fields.ts';
import { checkTemplate } from './pod-template/validate.ts';
import { checkLabelSelector } from './selectors.ts';

// What the kinds that keep pods running have alike: a selector, a template, and counts in the status.

interface SelectingSpec {
  readonly selector?: LabelSelector;
  readonly template?: PodTemplateSpec;
}

export interface WorkloadOptions {
  /** The kind, as messages name it. */
  readonly kind: string;
  /** The kind that keeps the pods running, where that is another. */
  readonly keeper?: string;
  /** Volumes that the controller adds to the template. */
  readonly claims?: readonly string[];
}

/** The selector chooses something, and the pods of the template, whose containers always run. */
export function checkSelectorAndTemplate(out: Violations, spec: SelectingSpec, options: WorkloadOptions): void {
  const { selector, template } = spec;
  if (!selector) out.push(required('spec.selector'));
  else {
    checkLabelSelector(out, 'spec.selector', selector);
    if (Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions?.length ?? 0) === 0)
      out.push(invalidValue('spec.selector', '', `empty selector is invalid for ${options.kind.toLowerCase()}`));
    if (compileLabelSelector(selector)?.matches(template?.metadata?.labels) === false) out.push(mismatch(template));
  }
  checkLastingTemplate(out, template, options);
}

/** The same for the older form of a selector: labels that pods must have. */
export function checkLabelsAndTemplate(
  out: Violations,
  spec: { readonly selector?: Labels; readonly template?: PodTemplateSpec },
  options: WorkloadOptions,
): void {
  const { selector = {}, template } = spec;
  if (Object.keys(selector).length === 0) out.push(required('spec.selector'));
  else if (compileLabelSelector({ matchLabels: { ...selector } })?.matches(template?.metadata?.labels) === false)
    out.push(mismatch(template));
  checkLastingTemplate(out, template, options);
}

function mismatch(template: PodTemplateSpec | undefined): FieldViolation {
  const labels = formatLabels(template?.metadata?.labels);
  return invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`');
}

function checkLastingTemplate(
  out: Violations,
  template: PodTemplateSpec | undefined,
  { kind, keeper = kind, claims = [] }: WorkloadOptions,
): void {
  checkTemplate(out, 'spec.template', template, claims);
  if (!template) return;
  const { restartPolicy, activeDeadlineSeconds } = template.spec ?? {};
  if (restartPolicy !== 'Always') out.push(notSupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']));
  if (activeDeadlineSeconds !== undefined) out.push(forbidden('spec.template.spec.activeDeadlineSeconds', noDeadline(keeper)));
}

/** Which pods are an object's own is decided once. */
export function checkSelectorUnchanged(out: Violations, next?: SelectingSpec, previous?: SelectingSpec): void {
  if (equalValues(next?.selector, previous?.selector)) return;
  out.push(invalidValue('spec.selector', formatLabelSelector(next?.selector), 'field is immutable'));
}

/** Numbers that are not negative. */
export function checkCounts<T extends object>(
  out: Violations,
  at: string,
  values: T,
  names: readonly (keyof T & string)[],
): void {
  for (const name of names) checkRange(out, at, `.${name}`, values[name] as number | undefined, 0);
}

interface ReplicaCounts {
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
}

/** Of the pods that there are some may be of each sort, and of those that are ready some may be available. */
export function checkReplicaCounts<Part extends string>(
  out: Violations,
  status: ReplicaCounts & { readonly [Name in Part]?: number },
  parts: readonly Part[],
): void {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  for (const name of [...parts, 'readyReplicas', 'availableReplicas'] as const) {
    const part = status[name] ?? 0;
    if (part > replicas) out.push(invalidValue(`status.${name}`, part, 'cannot be greater than status.replicas'));
  }
  if (availableReplicas > readyReplicas)
    out.push(invalidValue('status.availableReplicas', availableReplicas, 'cannot be greater than status.readyReplicas'));
}

interface Collisions {
  readonly collisionCount?: number;
}

/** A name that was taken once would be tried again. */
export function checkCollisionCount(out: Violations, next: Collisions = {}, previous: Collisions = {}): void {
  if ((next.collisionCount ?? 0) < (previous.collisionCount ?? 0))
    out.push(invalidValue('status.collisionCount', next.collisionCount ?? 0, 'cannot be decremented'));
}
