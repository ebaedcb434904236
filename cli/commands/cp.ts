import type { Command } from 'commander';
import { badRequest, isNotFound } from '../../api/errors/index.ts';
import type { FileStat } from '../../api/generated/types.ts';
import type { Client, ObjectKey } from '../../client/index.ts';
import { pickContainer } from '../args/pod-container.ts';
import { type FileSpec, parseFileSpec } from '../copy/file-spec.ts';
import { showCopied } from '../copy/show-copied.ts';
import { visible } from '../printers/visible.ts';
import { type Session, withSession } from '../session.ts';
import { createProgress } from '../terminal/progress.ts';

interface CopyFlags {
  readonly container?: string;
  readonly preserve: boolean;
}

export function registerCp(program: Command): void {
  program
    .command('cp')
    .description('Copy files to and from containers: cp FILE web:/tmp, cp web:/var/log ./log')
    .argument('<source>', 'FILE, POD:PATH or NAMESPACE/POD:PATH')
    .argument('<destination>', 'FILE, POD:PATH or NAMESPACE/POD:PATH')
    .option('-c, --container <name>', 'the container, when the pod has several')
    .option('--no-preserve', 'without the permissions and owners of the files')
    .action(async (from: string, to: string, flags: CopyFlags, command: Command) => {
      const [source, destination] = [parseFileSpec(from), parseFileSpec(to)];
      if (source.place === destination.place)
        throw badRequest(`one of source and destination must be in a pod (POD:PATH), and only one`);
      await withSession(command, async (session) => {
        if (source.place === 'pod') await download(session, source, destination.path, flags);
        else if (destination.place === 'pod') await upload(session, source.path, destination, flags);
      });
    });
}

type PodSpec = Extract<FileSpec, { place: 'pod' }>;

/** The pod's end of a copy. */
interface PodEnd {
  readonly pods: Client['pods'];
  readonly key: ObjectKey;
  readonly container: string;
}

async function findEnd({ client, namespace }: Session, spec: PodSpec, flags: CopyFlags): Promise<PodEnd> {
  const key = { namespace: spec.namespace ?? namespace, name: spec.pod };
  return { pods: client.pods, key, container: pickContainer(await client.pods.get(key), flags.container) };
}

/**
 * The line of progress, and warnings that do not run into it; they have names of files from a container,
 * which may hold anything.
 */
function createReport() {
  const progress = createProgress();
  const warn = (message: string): void => {
    progress.clear();
    process.stderr.write(`warning: ${visible(message)}\n`);
  };
  return { progress, warn };
}

async function download(
  session: Session,
  source: PodSpec,
  destination: string,
  { preserve, ...flags }: CopyFlags,
): Promise<void> {
  const { unpack } = await import('../copy/download.ts');
  const { pods, key, container } = await findEnd(session, source, { preserve, ...flags });
  const files = { container, path: source.path };
  const info = await pods.stat(key, files);
  if (info.type === 'link') throw badRequest(`${source.path} is a link to something that is not there`);
  if (info.type === 'other') throw badRequest(`${source.path} is no file and no directory`);
  const { progress, warn } = createReport();
  await unpack(info, showCopied(pods.readFiles(key, files), progress), destination, { preserve, warn });
}

async function upload(session: Session, source: string, destination: PodSpec, { preserve, ...flags }: CopyFlags): Promise<void> {
  const { chooseUploadTarget, lookAt, packUp } = await import('../copy/upload.ts');
  const local = await lookAt(source);
  const { pods, key, container } = await findEnd(session, destination, { preserve, ...flags });
  const there = await statIfThere(pods, key, { container, path: destination.path });
  if (there && there.type !== 'directory' && local.isDirectory())
    throw badRequest(`${destination.path} is no directory; a directory cannot be copied over it`);
  if (!there && destination.path.endsWith('/') && !local.isDirectory())
    throw badRequest(`no such directory in container "${container}": ${destination.path}`);
  const { directory, name } = chooseUploadTarget(source, destination.path, there?.type === 'directory');
  // A missing directory is reported before anything is sent.
  const parent = await pods.stat(key, { container, path: directory });
  const runsAs = { uid: parent.runsAsUser ?? 0, gid: parent.runsAsGroup ?? 0 };
  const { progress, warn } = createReport();
  const archive = packUp(source, name, { preserve, runsAs, warn });
  await pods.writeFiles(key, { container, path: directory }, showCopied(archive, progress));
}

async function statIfThere(
  pods: Client['pods'],
  key: ObjectKey,
  files: { container: string; path: string },
): Promise<FileStat | undefined> {
  try {
    return await pods.stat(key, files);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
