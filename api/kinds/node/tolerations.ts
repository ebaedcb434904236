import type { Taint, Toleration } from '../../generated/types.ts';

/**
 * Kubernetes' rule: an empty key with Exists tolerates every taint, an empty effect every effect, no operator means
 * Equal.
 */
export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some((toleration) => toleratesOne(toleration, taint));
}

export function toleratesOne({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (operator || 'Equal') === 'Equal' && (value ?? '') === (taint.value ?? '');
}
