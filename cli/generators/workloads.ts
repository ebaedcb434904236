import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import { type Tree, text, tree } from '../describe/json.ts';
import { portNumber, wholeNumber } from './numbers.ts';

// What `create deployment`, `create job` and `create cronjob` make, in JSON form.

export interface DeploymentFlags {
  readonly image: readonly string[];
  readonly port?: string;
  readonly replicas: string;
}

/** A container for each image; the words are the command of the only one. */
export function deploymentObject(name: string, words: readonly string[], { image, port, replicas }: DeploymentFlags): JsonObject {
  const images = image.flatMap((each) => each.split(',')).filter((each) => each !== '');
  if (images.length === 0) throw badRequest('say which image to run: --image IMAGE');
  if (images.length > 1 && words.length > 0)
    throw badRequest('a command is for one container: give either several images or a command');
  const containers = images.map(
    (each, at): JsonObject => ({
      name: containerName(each, images.slice(0, at)),
      image: each,
      ...(words.length > 0 && { command: [...words] }),
      ...(port !== undefined && at === 0 && { ports: [{ containerPort: portNumber('--port', port) }] }),
    }),
  );
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels },
    spec: {
      replicas: wholeNumber('--replicas', replicas),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  };
}

/** The last part of an image's name, as a container may be called; another number for each that has it already. */
function containerName(image: string, before: readonly string[]): string {
  const plain = plainName(image);
  const same = before.filter((each) => plainName(each) === plain).length;
  return same === 0 ? plain : `${plain}-${same + 1}`;
}

function plainName(image: string): string {
  const [last = ''] = (image.split('/').at(-1) ?? '').split(/[:@]/);
  return last.replace(/[_.]+/g, '-');
}

export interface JobFlags {
  readonly image?: string;
  readonly from?: string;
}

/** Throws INVALID_ARGUMENT for flags that do not say what the job runs, or say it twice. */
export function checkJobFlags(words: readonly string[], { image, from }: JobFlags): void {
  if ((image === undefined) === (from === undefined))
    throw badRequest('say what to run: either --image IMAGE or --from=cronjob/NAME');
  if (from !== undefined && words.length > 0)
    throw badRequest('the job of a cronjob has its command: leave out either --from or the command');
}

/** A job that runs an image once. */
export function jobObject(name: string, words: readonly string[], image: string): JsonObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { template: { spec: { containers: [jobContainer(name, words, image)], restartPolicy: 'Never' } } },
  };
}

function jobContainer(name: string, words: readonly string[], image: string): JsonObject {
  return { name, image, ...(words.length > 0 && { command: [...words] }) };
}

/** The job that a cronjob would make, made by hand. */
export function jobOfCronJob(name: string, cronJob: Tree): JsonObject {
  const { metadata, spec } = tree(cronJob, 'spec', 'jobTemplate');
  const labels = tree(metadata, 'labels') as JsonObject;
  const annotations = tree(metadata, 'annotations') as JsonObject;
  // Not blocking the deletion of its owner, as with kubectl: that takes a right of its own.
  const owner = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    name: text(cronJob, 'metadata', 'name'),
    uid: text(cronJob, 'metadata', 'uid'),
    controller: true,
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      annotations: { [workloadAnnotations.cronJobInstantiate]: 'manual', ...annotations },
      ...(Object.keys(labels).length > 0 && { labels }),
      ownerReferences: [owner],
    },
    spec: spec as JsonObject,
  };
}

export interface CronJobFlags {
  readonly image: string;
  readonly schedule: string;
  readonly restart: 'OnFailure' | 'Never';
}

/** A job for each time of a schedule. */
export function cronJobObject(name: string, words: readonly string[], { image, schedule, restart }: CronJobFlags): JsonObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name },
    spec: {
      schedule,
      // kubectl names the template too; a name there has no effect, and the server warns of it.
      jobTemplate: {
        spec: { template: { spec: { containers: [jobContainer(name, words, image)], restartPolicy: restart } } },
      },
    },
  };
}
