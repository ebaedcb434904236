import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applying } from './kubectl/applying.ts';
import { changing } from './kubectl/changing.ts';
import { cluster } from './kubectl/cluster.ts';
import { creating } from './kubectl/creating.ts';
import { customKinds } from './kubectl/custom-kinds.ts';
import { deleting } from './kubectl/deleting.ts';
import { nodes } from './kubectl/nodes.ts';
import { pods } from './kubectl/pods.ts';
import { reading } from './kubectl/reading.ts';
import { rights } from './kubectl/rights.ts';
import { kubectls, openSession, type Session } from './kubectl/session.ts';
import { streams } from './kubectl/streams.ts';
import { workloads } from './kubectl/workloads.ts';

// A day with kubectl, unmodified, in front of containers that run: each theme in namespaces of its own, side by side.
describe.each(kubectls)('%s', (program) => {
  let session: Session;
  beforeAll(async () => {
    session = await openSession(program);
  });
  afterAll(() => session?.close());

  describe.concurrent('side by side', () => {
    const themes = { reading, applying, changing, creating, deleting, workloads, pods, streams, rights, customKinds, cluster };
    for (const theme of Object.values(themes)) theme((namespace) => session.in(namespace));
  });

  // What keeps pods from the node, alone.
  describe('alone', () => {
    nodes((namespace) => session.in(namespace));

    it('has tried each command that kubectl offers, 300 in all', async () => {
      const { stdout } = await (await session.in('help')).run('help');
      // A command stands alone on its line: two spaces, its name, spaces, what it does.
      const offered = [...stdout.matchAll(/^ {2}([a-z][a-z-]+) {2,}\S/gm)].map(([, name]) => name!);
      const ofTheProgram = ['alpha', 'completion', 'config', 'kustomize', 'options', 'plugin'];
      const untried = offered.filter((name) => !session.commands.has(name) && !ofTheProgram.includes(name));
      expect({ untried, offered: offered.length > 35 }).toEqual({ untried: [], offered: true });
      expect(session.count()).toBeGreaterThan(300);
    });
  });
});
