import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { serviceType } from '../api/codec/descriptors.ts';
import { kindNamed } from '../api/kinds/index.ts';
import { actions } from '../apiserver/verbs/actions/index.ts';

// What a verb of a kind costs, besides what it does: its method in the proto, its file in apiserver/verbs/actions, one
// line in the index with its import, and a method in the typed client if programs are to call it there.
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const rooms = ['api', 'client', 'apiserver', 'scheduler', 'agent', 'controllers', 'cli', 'host'];
const sources = rooms
  .flatMap((room) => readdirSync(join(root, room), { recursive: true, encoding: 'utf8' }).map((name) => `${room}/${name}`))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('api/generated/'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));
const folder = 'apiserver/verbs/actions';
const files = readdirSync(join(root, folder)).filter((name) => !['action.ts', 'index.ts'].includes(name));

/** The sources that match, without the folder of the actions. */
const outside = (pattern: RegExp): string[] =>
  sources.filter(({ name, text }) => !name.startsWith(`${folder}/`) && pattern.test(text)).map(({ name }) => name);

/** Files that name a verb besides its own: the typed client, and what asks for the same right. */
const alsoNamedIn: Readonly<Record<string, readonly string[]>> = {
  // The stream of many bindings.
  Bind: ['client/services/pod-client.ts', 'apiserver/calls/access-table.ts'],
  CreateToken: ['client/services/service-account-client.ts'],
  Evict: ['client/services/pod-client.ts'],
  // The emptying of a namespace's objects that extension servers keep.
  Finalize: ['client/services/namespace-client.ts', 'apiserver/calls/access-table.ts', 'apiserver/rpc/extensions-service.ts'],
};

describe('the index of actions', () => {
  const index = readFileSync(join(root, folder, 'index.ts'), 'utf8');

  it.each(files)('has one import and one entry for %s', (file) => {
    const [, name = '', ...more] = [...index.matchAll(new RegExp(`^import \\{ (\\w+) \\} from '\\./${file}';$`, 'gm'))].flat();
    expect(more).toEqual([]);
    expect(/= \[(.*?)\]/s.exec(index)?.[1]?.match(new RegExp(`\\b${name}\\b`, 'g'))).toHaveLength(1);
  });

  it('lists as many actions as there are files', () => {
    expect(actions).toHaveLength(files.length);
  });
});

describe.each(actions)('the action $method', ({ of, method, access, body }) => {
  it('is named in its own file, and by its callers', () => {
    const named = outside(new RegExp(`['"\`](?:[\\w./$\\{\\}]*/)?${method}['"\`]|'${access}'`));
    expect(named.toSorted()).toEqual((alsoNamedIn[method] ?? []).toSorted());
  });

  it("is a method of its kind's service, which takes the body's write request", () => {
    const kind = kindNamed(of);
    expect(serviceType(kind?.service ?? '').methods[method]?.requestType).toMatch(new RegExp(`\\b${body.kind}WriteRequest$`));
  });
});
