import type { NetworkPolicy, Pod } from '../../api/generated/types.ts';
import { directions } from '../../api/kinds/network-policy/defaults.ts';
import { labelSelectorMatches } from '../../api/meta/labels.ts';

/** So many policies are named. */
const mostNamed = 5;

/**
 * What network policies of the pods' namespace keep from every connection: pods that a policy isolates while no policy
 * of theirs has an ingress rule, for policies add up. A sentence without its dot for all of them, or nothing. Pure.
 */
export function closedDoors(policies: readonly NetworkPolicy[], pods: readonly Pod[]): string[] {
  const named = new Set<string>();
  const closed = pods.filter(({ metadata, spec }) => {
    const isolating = policies.filter(
      (policy) =>
        policy.spec?.policyTypes?.includes(directions.ingress) &&
        labelSelectorMatches(policy.spec.podSelector, metadata?.labels ?? {}),
    );
    if (spec?.hostNetwork || isolating.length === 0 || isolating.some((policy) => policy.spec?.ingress?.length)) return false;
    for (const policy of isolating) named.add(policy.metadata?.name ?? '');
    return true;
  });
  if (closed.length === 0) return [];
  const names = [...named].toSorted();
  const shown = names.slice(0, mostNamed).map((name) => `"${name}"`);
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : '';
  const [noun, have] = names.length === 1 ? ['network policy', 'has'] : ['network policies', 'have'];
  return [
    `${closed.length} of ${pods.length} pods accept no connection where network policies are enforced: ` +
      `the ${noun} ${shown.join(', ')}${more} ${have} no ingress rule, and no other policy allows any`,
  ];
}
