import { describe, expect, it } from 'vitest';
import type { Identity } from '../authn/identity.ts';
import type { Attributes } from '../authz/attributes.ts';
import { AuditLevels, type AuditPolicy, defaultPolicy, parsePolicy, readPolicy } from './policy.ts';

const anna: Identity = { user: 'anna', groups: ['dev', 'system:authenticated'] };
const node: Identity = { user: 'system:node:n1', groups: ['system:nodes'] };

/** Asked twice: the second answer is what it remembers. */
function levelOf(policy: AuditPolicy, identity: Identity, attributes: Attributes): string {
  const levels = new AuditLevels(policy);
  const first = levels.of(identity, attributes);
  expect(levels.of(identity, attributes)).toBe(first);
  return first;
}

function access(text: string, name = 'x'): Attributes {
  const [verb = '', path = ''] = text.split(' ');
  const [full = '', subresource = ''] = path.split('/');
  const [resource = '', ...group] = full.split('.');
  return { verb, group: group.join('.'), resource, subresource, namespace: 'default', name };
}

describe('what is written down by default', () => {
  it.each([
    ['create pods', anna, 'Metadata'],
    ['delete nodes', anna, 'Metadata'],
    ['get pods', anna, 'None'],
    ['list configmaps', anna, 'None'],
    ['get secrets', anna, 'Metadata'],
    ['list secrets', anna, 'Metadata'],
    ['create pods/exec', anna, 'Metadata'],
    ['get pods/log', anna, 'Metadata'],
    ['get pods/proxy', anna, 'Metadata'],
    ['get services/proxy', anna, 'Metadata'],
    ['get nodes/proxy', anna, 'Metadata'],
    ['get services/status', anna, 'None'],
    ['create pods/eviction', anna, 'Metadata'],
    ['create roles.rbac.authorization.k8s.io', anna, 'Metadata'],
    ['get secrets', node, 'None'],
    ['patch pods/status', node, 'None'],
    ['update leases.coordination.k8s.io', node, 'None'],
    ['create backups.berth.io', anna, 'Metadata'],
  ] as const)('%s', (text, identity, level) => {
    expect(levelOf(defaultPolicy, identity, access(text))).toBe(level);
  });
});

describe('a policy', () => {
  const header = 'apiVersion: audit.k8s.io/v1\nkind: Policy\n';
  const policy = (rules: string) => parsePolicy(`${header}rules:\n${rules}`, 'p.yaml');

  it('goes by the first rule that fits, and writes nothing down where none does', () => {
    const read = policy(`- {level: None, users: [bot]}
- {level: Request, namespaces: [default], resources: [{group: "", resources: [pods], resourceNames: [web]}]}
- {level: RequestResponse, userGroups: [dev], verbs: [delete]}`);
    expect(levelOf(read, { user: 'bot', groups: ['dev'] }, access('delete pods'))).toBe('None');
    expect(levelOf(read, anna, access('create pods', 'web'))).toBe('Request');
    expect(levelOf(read, anna, access('create pods', 'db'))).toBe('None');
    expect(levelOf(read, anna, access('delete nodes'))).toBe('RequestResponse');
  });

  it('is asked again for each object where it names objects or namespaces', () => {
    const levels = new AuditLevels(
      policy('- {level: Metadata, namespaces: [default], resources: [{resources: [pods], resourceNames: [web]}]}'),
    );
    expect(levels.of(anna, access('create pods', 'web'))).toBe('Metadata');
    expect(levels.of(anna, access('create pods', 'db'))).toBe('None');
    expect(levels.of(anna, { ...access('create pods', 'web'), namespace: 'other' })).toBe('None');
  });

  it('cannot write down what Secrets and tokens hold', () => {
    const read = policy('- {level: RequestResponse}');
    for (const text of ['create secrets', 'create serviceaccounts/token', 'create tokenreviews.authentication.k8s.io'])
      expect(levelOf(read, anna, access(text))).toBe('Metadata');
    expect(levelOf(read, anna, access('create pods'))).toBe('RequestResponse');
  });

  it.each([
    ['pods', 'create pods', true],
    ['pods', 'create pods/exec', false],
    ['pods/exec', 'create pods/exec', true],
    ['pods/*', 'create pods/exec', true],
    ['pods/*', 'create pods', false],
    ['*', 'create pods/exec', true],
  ])('resource "%s" means "%s": %s', (pattern, text, isMeant) => {
    const read = policy(`- {level: Metadata, resources: [{resources: ["${pattern}"]}]}`);
    expect(levelOf(read, anna, access(text))).toBe(isMeant ? 'Metadata' : 'None');
  });

  it.each([
    ['rules: [', 'p.yaml: '],
    ['[]', 'p.yaml: it must be an object'],
    ['kind: Pod', 'it must begin with apiVersion: audit.k8s.io/v1 and kind: Policy'],
    [`${header}rules: []`, 'rules: must be a list of at least one rule'],
    [`${header}rule: []`, 'rule: unknown field; there are apiVersion, kind, metadata, rules'],
    [`${header}rules: [{level: Most}]`, 'rules[0].level: must be None, Metadata, Request, RequestResponse'],
    [`${header}rules: [{level: None, user: [a]}]`, 'rules[0].user: unknown field'],
    [`${header}rules: [{level: None, verbs: get}]`, 'rules[0].verbs: must be a list of texts'],
    [`${header}rules: [{level: None, resources: [{group: 1}]}]`, 'rules[0].resources[0].group: must be a text'],
    [`${header}rules: [{level: None`, 'p.yaml: line 3, column '],
    [`${header}rules: []\nrules: []`, 'line 4, column 1: rules: the field stands here twice'],
  ])('is refused as %j', (text, why) => {
    expect(() => parsePolicy(text, 'p.yaml')).toThrow(why);
  });

  it.each([
    ['[', ''],
    ['{a: ', '}'],
    ['- ', ''],
  ])('is refused when it is nested deeply, as with "%s"', (open, close) => {
    const text = `${header}rules:\n  ${open.repeat(50_000)}${close.repeat(50_000)}`;
    expect(() => parsePolicy(text, 'p.yaml')).toThrow('p.yaml: line 1, column 1: it is nested more than 128 levels deep');
  });

  it('is read up to 1 MiB', async () => {
    await expect(readPolicy('/dev/zero')).rejects.toThrow(
      'read the audit policy /dev/zero: it is larger than 1 MiB, too large for a file of settings',
    );
    await expect(readPolicy('/nowhere')).rejects.toThrow('read the audit policy /nowhere: there is no such file');
    await expect(readPolicy('/')).rejects.toThrow('read the audit policy /: ');
  });
});
