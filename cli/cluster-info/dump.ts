import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Pod } from '../../api/generated/types.ts';
import { kindOf } from '../../api/kinds/index.ts';
import { listAll } from '../../client/informer/list-all.ts';
import { containerNames } from '../args/pod-container.ts';
import { listAllJson } from '../get/listing.ts';
import { writeAll } from '../logs/log-output.ts';
import { printObjects } from '../printers/objects.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import type { Session } from '../session.ts';

export interface DumpFlags {
  readonly outputDirectory?: string;
  readonly output: 'json' | 'yaml';
}

/** Of the cluster. */
const clusterKinds = ['Node', 'PersistentVolume'] as const;
/** Of each namespace. ConfigMaps and Secrets are not for reports. */
const namespaceKinds = ['Event', 'PersistentVolumeClaim', 'PodDisruptionBudget', 'Pod'] as const;

/** Where a part of the dump goes. */
type Write = (data: Uint8Array) => Promise<void>;

/**
 * Writes objects and logs as they are. What cannot be read is told on standard error and hides nothing else; the
 * command then ends with 1.
 */
export async function dumpCluster(session: Session, namespaces: readonly string[], flags: DumpFlags): Promise<void> {
  const dump = new Dump(session, flags);
  for (const kind of clusterKinds) await dump.objects(kind);
  for (const namespace of namespaces) {
    for (const kind of namespaceKinds) await dump.objects(kind, namespace);
    await dump.logs(namespace);
  }
  const { outputDirectory } = flags;
  if (isFolder(outputDirectory)) process.stdout.write(`Cluster info dumped to ${outputDirectory}\n`);
  if (dump.failed) throw new ExitWith(1);
}

class Dump {
  failed = false;
  readonly #session: Session;
  readonly #flags: DumpFlags;

  constructor(session: Session, flags: DumpFlags) {
    this.#session = session;
    this.#flags = flags;
  }

  /** All objects of a kind, in a file by its plural. */
  async objects(kindName: string, namespace?: string): Promise<void> {
    const kind = kindOf(kindName)!;
    const format = this.#flags.output;
    await this.#attempt(`${kind.plural}${namespace === undefined ? '' : ` of namespace ${namespace}`}`, async () => {
      const found = await listAllJson(this.#session.client.objects, kind, { namespace });
      const text = printObjects(found, { format }, { single: false });
      await this.#part([...(namespace === undefined ? [] : [namespace]), `${kind.plural}.${format}`], (write) =>
        write(Buffer.from(text)),
      );
    });
  }

  /** The logs of all containers of a pod, in a file of the pod's folder. */
  async logs(namespace: string): Promise<void> {
    await this.#attempt(`logs of namespace ${namespace}`, async () => {
      const { items } = await listAll(this.#session.client.pods, { namespace });
      for (const pod of items)
        await this.#part([namespace, pod.metadata?.name ?? '', 'logs.txt'], (write) => this.#podLogs(pod, write));
    });
  }

  async #podLogs(pod: Pod, write: Write): Promise<void> {
    const { namespace = '', name = '' } = pod.metadata ?? {};
    const say = (text: string): Promise<void> => write(Buffer.from(text));
    for (const container of containerNames(pod)) {
      await say(`==== START logs for container ${container} of pod ${namespace}/${name} ====\n`);
      try {
        for await (const data of this.#session.client.pods.logs({ namespace, name }, { container })) await write(data);
      } catch (error) {
        // Of a container that has not started there is no log: that belongs into the report.
        await say(`Request log error: ${describeFailure(error)}\n`);
      }
      await say(`==== END logs for container ${container} of pod ${namespace}/${name} ====\n`);
    }
  }

  async #part(path: readonly string[], run: (write: Write) => Promise<void>): Promise<void> {
    const { outputDirectory } = this.#flags;
    if (!isFolder(outputDirectory)) return await run((data) => writeAll(process.stdout, data));
    const file = join(outputDirectory, ...path.map(checkName));
    await mkdir(dirname(file), { recursive: true });
    const handle = await open(file, 'w', 0o600);
    try {
      await run((data) => handle.appendFile(data));
    } finally {
      await handle.close();
    }
  }

  async #attempt(what: string, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.failed = true;
      process.stderr.write(`error: dump ${what}: ${describeFailure(error)}\n`);
    }
  }
}

function isFolder(folder: string | undefined): folder is string {
  return folder !== undefined && folder !== '-';
}

/** Names come from the server and must not lead out of the folder. */
function checkName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/')) throw new Error(`"${name}" is no name of a file`);
  return name;
}
