import type { PriorityLevelConfiguration, PriorityLevelConfigurationSpec } from '../../generated/types.ts';

/** The levels that every cluster of Kubernetes has, by their names, with all defaults. */
export const mandatoryPriorityLevels: Readonly<Record<string, PriorityLevelConfigurationSpec>> = {
  exempt: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  'catch-all': {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
  },
};

/** The spec that Kubernetes fixes for a level of this name, except the shares of "exempt"; undefined for others. */
export function fixedPriorityLevel({ metadata, spec }: PriorityLevelConfiguration): PriorityLevelConfigurationSpec | undefined {
  const name = metadata?.name ?? '';
  const fixed = Object.hasOwn(mandatoryPriorityLevels, name) ? mandatoryPriorityLevels[name] : undefined;
  if (!fixed?.exempt || !spec?.exempt) return fixed;
  return { ...fixed, exempt: spec.exempt };
}
