import { nearestWord } from '../../api/codec/nearest.ts';
import { badRequest } from '../../api/errors/index.ts';

/** What does the work of kubectl's commands that are not there. */
const insteadOfKubectl: Readonly<Record<string, string>> = {
  proxy: '"kubectl proxy" serves the HTTP API here, with the kubeconfig of "berth kubeconfig --merge"',
  convert: '"berth get TYPE.VERSION.GROUP NAME -o yaml" shows an object in another version that the server has',
  options: '"berth --help" lists the flags of all commands',
  kuberc: 'BERTH_CONFIG=FILE in the environment names the configuration, which keeps no flags',
};

/** What does the work of commands of docker and k3s. */
const elsewhere: Readonly<Record<string, string>> = {
  ps: '"berth get pods -A" lists what runs',
  stop: '"berth delete pod NAME" ends a pod',
  start: '"berth apply -f FILE" starts pods, "berth up" the server',
  restart: '"berth rollout restart deployment/NAME" replaces all pods of a workload',
  rm: '"berth delete TYPE NAME" deletes an object',
  inspect: '"berth describe TYPE NAME" and "berth get TYPE NAME -o yaml" show an object',
  stats: '"berth top pods" and "berth top nodes" show resource usage',
  images: 'each node has the images of its own engine: "docker images" there lists them',
  pull: 'a node pulls the images of its pods by itself',
  build: '"docker build" makes images; nodes use those of their engine and of registries',
  status: '"berth cluster-info" and "berth get nodes" show the state of the cluster',
  rmi: 'each node removes images of its engine that nothing uses when its disk fills; "docker rmi" there removes one',
  kill: '"berth delete pod NAME --grace-period=1" ends a pod at once',
  compose: 'Berth reads no Compose files: "berth apply -f FILE" starts what Kubernetes\' manifests describe',
  docker: 'leave "docker" out; "berth --help" lists the commands',
  network: 'pods are in one network; "berth get services" and "berth get networkpolicies" show what is about it',
  volume: '"berth get persistentvolumeclaims" and "berth get persistentvolumes" list volumes',
  login: '"berth create secret docker-registry NAME" keeps the password of a registry for pods that name it in imagePullSecrets',
  info: '"berth cluster-info" and "berth get nodes" show the state of the cluster',
  kubectl: 'leave "kubectl" out: "berth get pods"',
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

/** The error for a word that is no command: what does the work instead, or the command that was probably meant. */
export function unknownCommand(word: string, known: readonly string[]): Error {
  if (Object.hasOwn(insteadOfKubectl, word)) return badRequest(`"berth ${word}" is not there; ${insteadOfKubectl[word]}`);
  if (Object.hasOwn(elsewhere, word)) return badRequest(`unknown command '${word}'; ${elsewhere[word]}`);
  const close = closest(
    word,
    known.filter((name) => !destructive.includes(name)),
  );
  return badRequest(`unknown command '${word}'; ${close ? `did you mean ${close}?` : '"berth --help" lists the commands'}`);
}

/** The same for a word behind a command that is a group of others. */
export function unknownSubcommand(group: string, word: string, known: readonly string[]): Error {
  const close = closest(
    word,
    known.filter((name) => !name.startsWith('delete')),
  );
  const what = `unknown command '${word}' of "berth ${group}"`;
  return badRequest(`${what}; ${close ? `did you mean ${close}?` : `"berth ${group} --help" lists them`}`);
}

/** A slip rarely hits the first letter: "stop" is not "top". */
function closest(word: string, known: readonly string[]): string | undefined {
  return nearestWord(
    word,
    known.filter((name) => !name.startsWith('_') && name[0] === word[0]?.toLowerCase()),
  );
}
