import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { Node } from '../../generated/types.ts';
import { isAddressRange } from '../../meta/ip.ts';
import { checkFieldSupport, lazyFieldSupport } from '../field-support.ts';
import { validateQuantities } from '../quantities.ts';
import { validateTaints } from '../taints.ts';
import { nodeFields } from './fields.ts';

const support = lazyFieldSupport('berth.core.v1.Node', nodeFields);

export function validateNode(node: Node): FieldViolation[] {
  return [
    ...validateTaints('spec.taints', node.spec?.taints),
    ...validateCidrs(node),
    ...validateQuantities('status.capacity', node.status?.capacity),
    ...validateQuantities('status.allocatable', node.status?.allocatable),
    ...checkFieldSupport(support(), node).violations,
  ];
}

function validateCidrs(node: Node): FieldViolation[] {
  const { podCIDR, podCIDRs = [] } = node.spec ?? {};
  const violations: FieldViolation[] = [];
  podCIDRs.forEach((cidr, i) => {
    if (!isAddressRange(cidr))
      violations.push(invalidValue(`spec.podCIDRs[${i}]`, cidr, 'must be an address range such as "10.88.1.0/24"'));
  });
  if (podCIDR && !isAddressRange(podCIDR))
    violations.push(invalidValue('spec.podCIDR', podCIDR, 'must be an address range such as "10.88.1.0/24"'));
  if (podCIDR && podCIDRs.length > 0 && podCIDRs[0] !== podCIDR) {
    violations.push(invalidValue('spec.podCIDRs[0]', podCIDRs[0], `must be spec.podCIDR "${podCIDR}"`));
  }
  return violations;
}

/** The range and the provider's id are given once: pods and clouds know the node by them. */
export function validateNodeUpdate(next: Node, previous: Node): FieldViolation[] {
  const violations: FieldViolation[] = [];
  for (const field of ['podCIDR', 'providerID'] as const) {
    const before = previous.spec?.[field];
    if (before && next.spec?.[field] !== before)
      violations.push(forbidden(`spec.${field}`, `is set already ("${before}") and cannot change`));
  }
  return violations;
}

export function nodeWarnings(node: Node): string[] {
  return checkFieldSupport(support(), node).warnings;
}
