import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../../generated/types.ts';

/** The versions of ConversionReview that the server speaks. */
export const conversionReviewVersions: readonly string[] = ['v1', 'v1beta1'];

/** The version that objects are stored in. */
export function storageVersionOf(spec: CustomResourceDefinitionSpec | undefined): CustomResourceDefinitionVersion | undefined {
  return spec?.versions?.find(({ storage }) => storage);
}

/** The versions that are served, the preferred one first; none where the definition says so. */
export function servedVersionsOf(spec: CustomResourceDefinitionSpec | undefined): readonly CustomResourceDefinitionVersion[] {
  const served = (spec?.versions ?? []).filter((version) => version.served);
  return served.toSorted((a, b) => compareVersions(a.name ?? '', b.name ?? ''));
}

export function findCondition({ status }: CustomResourceDefinition, type: string): CustomResourceDefinitionCondition | undefined {
  return status?.conditions?.find((each) => each.type === type);
}

/** Whether the kind is served. */
export function isEstablished(definition: CustomResourceDefinition): boolean {
  return findCondition(definition, 'Established')?.status === 'True';
}

/**
 * The condition of a definition of whose kind an object was ever made, as long as the definition is there. Controllers
 * watch no other kinds.
 */
export const inUseCondition = 'berth.io/InUse';

export function isInUse(definition: CustomResourceDefinition): boolean {
  return findCondition(definition, inUseCondition)?.status === 'True';
}

/** Versions in Kubernetes' order of preference: v2, v1, v1beta2, v1beta1, v1alpha1, then all others by name. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [rankOf(a), rankOf(b)];
  for (let i = 0; i < first.length; i++) if (first[i] !== second[i]) return second[i]! - first[i]!;
  return a < b ? -1 : Number(a > b);
}

function rankOf(name: string): readonly number[] {
  const [, major, stage, minor] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(name) ?? [];
  if (major === undefined) return [0, 0, 0];
  return [stage === undefined ? 3 : stage === 'beta' ? 2 : 1, Number(major), Number(minor ?? 0)];
}
