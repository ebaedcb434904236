import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue, required } from '../../errors/violations.ts';
import type { CustomResourceDefinition } from '../../generated/types.ts';

const annotation = 'api-approved.kubernetes.io';

/** Where a definition was approved, as it says itself. */
export function approvalOf({ metadata }: CustomResourceDefinition): string {
  return metadata?.annotations?.[annotation] ?? '';
}

/** In groups of Kubernetes' community a definition says where it was approved, or that it was not. */
export function validateApproval(definition: CustomResourceDefinition): FieldViolation[] {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(definition.spec?.group ?? '')) return [];
  const approval = approvalOf(definition);
  const field = `metadata.annotations[${annotation}]`;
  const how = 'a group below k8s.io or kubernetes.io needs the URL of its approval, or "unapproved, REASON"';
  if (approval === '') return [required(field, how)];
  return approval.startsWith('unapproved') || isUrl(approval) ? [] : [invalidValue(field, approval, how)];
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && new URL(text).host !== '';
}
