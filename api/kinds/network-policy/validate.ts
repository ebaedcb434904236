import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../generated/types.ts';
import { blockContains, parseIpBlock } from '../../meta/ip-block.ts';
import { portNameError } from '../../meta/names.ts';
import { checkPort, checkRule, type Violations } from '../checks.ts';
import { checkLabelSelector } from '../selectors.ts';
import { PROTOCOLS } from '../service/validate-addresses.ts';
import { directions } from './defaults.ts';

const POLICY_TYPES: readonly string[] = Object.values(directions);

/** Kubernetes' rules. */
export function validateNetworkPolicy({ spec = {} }: NetworkPolicy): FieldViolation[] {
  const out: Violations = [];
  const { podSelector, ingress = [], egress = [], policyTypes = [] } = spec;
  checkLabelSelector(out, 'spec.podSelector', podSelector);
  ingress.forEach(({ ports = [], from = [] }, i) => {
    checkRuleOf(out, `spec.ingress[${i}]`, ports, { name: 'from', peers: from });
  });
  egress.forEach(({ ports = [], to = [] }, i) => {
    checkRuleOf(out, `spec.egress[${i}]`, ports, { name: 'to', peers: to });
  });
  if (policyTypes.length > POLICY_TYPES.length)
    out.push(invalidValue('spec.policyTypes', policyTypes.join(), 'must have at most 2 types'));
  else
    policyTypes.forEach((type, i) => {
      if (!POLICY_TYPES.includes(type)) out.push(notSupported(`spec.policyTypes[${i}]`, type, POLICY_TYPES));
    });
  return out;
}

interface Peers {
  readonly name: 'from' | 'to';
  readonly peers: readonly NetworkPolicyPeer[];
}

function checkRuleOf(out: Violations, at: string, ports: readonly NetworkPolicyPort[], { name, peers }: Peers): void {
  ports.forEach((port, i) => {
    checkPolicyPort(out, `${at}.ports[${i}]`, port);
  });
  peers.forEach((peer, i) => {
    checkPeer(out, `${at}.${name}[${i}]`, peer);
  });
}

function checkPolicyPort(out: Violations, at: string, { protocol, port, endPort }: NetworkPolicyPort): void {
  if (protocol !== undefined && !PROTOCOLS.includes(protocol)) out.push(notSupported(`${at}.protocol`, protocol, PROTOCOLS));
  const isNumber = port !== undefined && port.type !== 1;
  if (isNumber) checkPort(out, at, '.port', port.intVal ?? 0);
  else if (port) checkRule(out, at, '.port', port.strVal, portNameError(port.strVal ?? ''));
  if (endPort === undefined) return;
  if (!isNumber) {
    const why = port ? 'may not be given when port is a name' : 'may not be given without port';
    out.push(invalidValue(`${at}.endPort`, endPort, why));
    return;
  }
  const first = port.intVal ?? 0;
  if (endPort < first) out.push(invalidValue(`${at}.endPort`, endPort, `must be at least port, which is ${first}`));
  checkPort(out, at, '.endPort', endPort);
}

function checkPeer(out: Violations, at: string, peer: NetworkPolicyPeer): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  if (!podSelector && !namespaceSelector && !ipBlock)
    out.push(required(at, 'must have podSelector, namespaceSelector or ipBlock; leave the list out to mean all'));
  if (ipBlock && (podSelector || namespaceSelector)) out.push(forbidden(at, 'ipBlock may not stand beside a selector'));
  checkLabelSelector(out, `${at}.podSelector`, podSelector);
  checkLabelSelector(out, `${at}.namespaceSelector`, namespaceSelector);
  if (ipBlock) checkIpBlock(out, `${at}.ipBlock`, ipBlock);
}

function checkIpBlock(out: Violations, at: string, { cidr = '', except = [] }: IPBlock): void {
  if (cidr === '') {
    out.push(required(`${at}.cidr`));
    return;
  }
  const block = parseIpBlock(cidr);
  const whyNone = 'must be an address range such as "10.9.8.0/24" or "2001:db8::/64"';
  if (!block) out.push(invalidValue(`${at}.cidr`, cidr, whyNone));
  except.forEach((text, i) => {
    const hole = parseIpBlock(text);
    const field = `${at}.except[${i}]`;
    if (!hole) out.push(invalidValue(field, text, whyNone));
    else if (block && !(block.length < hole.length && blockContains(block, hole)))
      out.push(invalidValue(field, text, `must be a part of cidr, which is ${cidr}, and not all of it`));
  });
}
