import type { Command } from 'commander';
import { writeManifests } from '../manifests/each-manifest.ts';
import type { ManifestFlags } from '../manifests/manifests.ts';
import { withSession } from '../session.ts';
import { planApply } from '../write/apply-object.ts';
import {
  checkServerSideFlags,
  planServerSideApply,
  type ServerSideFlags,
  withServerSideFlags,
} from '../write/server-side-apply.ts';
import { WritePrinter, withManifestFlags, withWriteFlags } from '../write/write-options.ts';

type ApplyFlags = ServerSideFlags & ManifestFlags;

export function registerApply(program: Command): void {
  const command = program
    .command('apply')
    .description('Create or update objects to match the manifests')
    .action(async (flags: ApplyFlags, command: Command) => {
      checkServerSideFlags(flags);
      const printer = await WritePrinter.for(flags);
      const { readManifests } = await import('../manifests/manifests.ts');
      const documents = await readManifests(flags);
      await withSession(command, (session) =>
        writeManifests(session, documents, {
          plan: (document) => (flags.serverSide ? planServerSideApply : planApply)(session, document, flags),
          print: ({ kind }, object, done) => printer.print(kind, object, done),
        }),
      );
    });
  withServerSideFlags(command);
  withWriteFlags(withManifestFlags(command, 'file, folder, or - for standard input', { required: true }));
}
