import type { Command } from 'commander';
import { messageToJson } from '../../api/codec/json.ts';
import { isConflict } from '../../api/errors/index.ts';
import type { Node } from '../../api/generated/types.ts';
import type { JsonObject } from '../../client/index.ts';
import { findNodes, type NodeSelection } from '../args/node-names.ts';
import { resolveKind } from '../args/resource-args.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { computeTaints, splitTaints, type TaintChange } from '../taint/taint-change.ts';
import { type WriteFlags, WritePrinter, withWriteFlags, writeOptions } from '../write/write-options.ts';

interface TaintFlags extends NodeSelection, WriteFlags {
  readonly overwrite?: boolean;
}

export function registerTaint(program: Command): void {
  const taint = program.command('taint').description('Add or remove taints on nodes');
  const command = taint
    .command('nodes')
    .aliases(['node', 'no'])
    .description('Set and remove taints: KEY=VALUE:EFFECT sets, KEY:EFFECT- and KEY- remove')
    .argument('[node...]', 'names of nodes, then KEY=VALUE:EFFECT... and KEY-...')
    .option('--overwrite', 'change taints that have another value')
    .option('-l, --selector <selector>', 'nodes with these labels')
    .option('--all', 'all nodes')
    .action(async (words: string[], flags: TaintFlags, command: Command) => {
      const { nodes: names, change } = splitTaints(words);
      const printer = await WritePrinter.for(flags);
      await withSession(command, async (session) => {
        let failed = 0;
        for (const node of await findNodes(session, names, flags, 'taint')) {
          try {
            const { object, done } = await taintOne(session, node, change, flags);
            await printer.print(resolveKind('node'), object, done);
          } catch (error) {
            failed++;
            process.stderr.write(`error: node/${node.metadata?.name}: ${describeFailure(error)}\n`);
          }
        }
        if (failed > 0) throw new ExitWith(1);
      });
    });
  withWriteFlags(command);
}

/** Others write taints too: a list that was read a moment too early is read again. */
const attempts = 5;

async function taintOne(
  session: Session,
  node: Node,
  change: TaintChange,
  flags: TaintFlags,
): Promise<{ readonly object: JsonObject; readonly done: string }> {
  const { objects, nodes } = session.client;
  const { name = '', uid } = node.metadata ?? {};
  for (let attempt = 1, current = node; ; attempt++) {
    const { taints, done, absent } = computeTaints(current.spec?.taints ?? [], change, flags.overwrite ?? false);
    if (attempt === 1) for (const each of absent) process.stderr.write(`taint "${each}" not found on node/${name}.\n`);
    if (!taints) return { object: await objects.get('Node', { name }), done };
    const list = taints.map((taint) => messageToJson('berth.core.v1.Taint', taint));
    const patch = { metadata: { uid, resourceVersion: current.metadata?.resourceVersion }, spec: { taints: list } };
    try {
      if (flags.dryRun === 'client') {
        const { mergePatch } = await import('../../api/meta/merge-patch.ts');
        const live = await objects.get('Node', { name });
        return { object: mergePatch(live, { spec: { taints: list } }) as JsonObject, done };
      }
      return { object: await objects.patch('Node', { name }, patch, writeOptions(flags, 'berth-taint')), done };
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error;
      current = await nodes.get({ name });
    }
  }
}
