import { nearestWord } from '../../api/codec/nearest.ts';
import { badRequest } from '../../api/errors/index.ts';

/** kubectl's commands that need what Berth does not have yet. */
const notYet: Readonly<Record<string, string>> = {
  scale: 'Deployments',
  autoscale: 'Deployments',
  rollout: 'Deployments',
  set: 'Deployments',
  expose: 'Services',
  proxy: "Kubernetes' HTTP API",
  kustomize: 'kustomizations',
  convert: 'conversion of manifests',
};

/** Never proposed for a slip: what a wrong guess would destroy or stop. */
const destructive: readonly string[] = [
  'delete',
  'down',
  'drain',
  'uninstall',
  'restore',
  'replace',
  'compact',
  'cordon',
  'taint',
];

/** The error for a word that is no command: what is not there yet, or the command that was probably meant. */
export function unknownCommand(word: string, known: readonly string[]): Error {
  const missing = Object.hasOwn(notYet, word) ? notYet[word] : undefined;
  if (missing !== undefined) return badRequest(`"berth ${word}" is not there yet: Berth has no ${missing} so far`);
  const close = nearestWord(
    word,
    // A slip rarely hits the first letter: "stop" is not "top".
    known.filter((name) => !name.startsWith('_') && !destructive.includes(name) && name[0] === word[0]?.toLowerCase()),
  );
  return badRequest(`unknown command '${word}'; ${close ? `did you mean ${close}?` : '"berth --help" lists the commands'}`);
}
