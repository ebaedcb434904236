import type { CustomResourceDefinition } from '../../generated/types.ts';

/** Kubernetes' defaults. */
export function defaultCustomResourceDefinition({ spec }: CustomResourceDefinition): void {
  if (!spec) return;
  const { names } = spec;
  if (names?.kind) {
    names.singular ||= names.kind.toLowerCase();
    names.listKind ||= `${names.kind}List`;
  }
  spec.conversion ??= {};
  spec.conversion.strategy ||= 'None';
  const { service } = spec.conversion.webhook?.clientConfig ?? {};
  if (service) service.port ??= 443;
}
