import { nearestWord } from '../../api/codec/nearest.ts';
import { badRequest } from '../../api/errors/index.ts';

/** What does the work of kubectl's commands that are not there. */
const insteadOfKubectl: Readonly<Record<string, string>> = {
  proxy: '"kubectl proxy" serves the HTTP API here, with the kubeconfig of "berth kubeconfig --merge"',
  convert: '"berth get TYPE.VERSION.GROUP NAME -o yaml" shows an object in another version that the server has',
  options: '"berth --help" lists the flags of all commands',
  kuberc: 'BERTH_CONFIG=FILE in the environment names the configuration, which keeps no flags',
};

const nodesImages = 'nodes use the images of their own engine, which "docker %" there changes, and those of registries';
const showsCluster = '"berth cluster-info" and "berth get nodes" show the state of the cluster';
const opensShell = '"berth exec -it POD -- sh" opens a shell in a container';
const showsPods = '"berth get pods -A" lists what runs';

/** What does the work of commands of docker, k3s, kubeadm, helm and nomad, and of words that are close at hand. */
const elsewhere: Readonly<Record<string, string>> = {
  // docker
  ps: showsPods,
  ls: '"berth get pods -A" lists what runs, "berth get all" what a namespace has',
  stop: '"berth delete pod NAME" ends a pod, "berth down" stops Berth',
  start: '"berth apply -f FILE" starts pods, "berth up" the server',
  restart: '"berth rollout restart deployment/NAME" replaces all pods of a workload',
  pause: '"berth rollout pause deployment/NAME" holds a rollout; "berth scale deployment/NAME --replicas=0" ends the pods',
  unpause: '"berth rollout resume deployment/NAME" lets a rollout go on',
  rm: '"berth delete TYPE NAME" deletes an object',
  inspect: '"berth describe TYPE NAME" and "berth get TYPE NAME -o yaml" show an object',
  stats: '"berth top pods" and "berth top nodes" show resource usage',
  images: 'each node has the images of its own engine: "docker images" there lists them',
  image: 'each node has the images of its own engine: "docker images" there lists them',
  container: showsPods,
  pull: 'a node pulls the images of its pods by itself',
  push: '"docker push" brings an image to a registry; nodes pull from there',
  load: nodesImages.replace('%', 'load'),
  import: nodesImages.replace('%', 'load'),
  build: '"docker build" makes images; nodes use those of their engine and of registries',
  status: showsCluster,
  rmi: 'each node removes images of its engine that nothing uses when its disk fills; "docker rmi" there removes one',
  kill: '"berth delete pod NAME --grace-period=1" ends a pod at once',
  compose: 'Berth reads no Compose files: "berth apply -f FILE" starts what Kubernetes\' manifests describe',
  stack: 'Berth reads no Compose files: "berth apply -f FILE" starts what Kubernetes\' manifests describe',
  swarm: '"berth up" makes a cluster, "berth token create" prints the line that joins a machine',
  docker: 'leave "docker" out; "berth --help" lists the commands',
  network: 'pods are in one network; "berth get services" and "berth get networkpolicies" show what is about it',
  volume: '"berth get persistentvolumeclaims" and "berth get persistentvolumes" list volumes',
  login: '"berth create secret docker-registry NAME" keeps the password of a registry for pods that name it in imagePullSecrets',
  info: showsCluster,
  system: `${showsCluster}; "docker system df" shows what takes the disk of a node`,
  // k3s, kubeadm
  kubectl: 'leave "kubectl" out: "berth get pods"',
  crictl: 'the runtime of a node is the Docker Engine: "docker ps" there lists its containers',
  ctr: 'the runtime of a node is the Docker Engine: "docker ps" there lists its containers',
  'etcd-snapshot': '"berth backup FILE" writes all objects into a file',
  'secrets-encrypt': 'Secrets are always encrypted; "berth secrets rotate-key" takes a new key',
  'check-config': '"berth up" and "berth install" look at the machine before they start anything',
  init: '"berth up" makes a cluster of this machine, "berth install server" one that starts with it',
  // helm, nomad
  helm: '"helm" itself works, with the kubeconfig of "berth kubeconfig --merge"',
  upgrade: '"berth up --upgrade" or "berth install server" of the new version upgrades Berth, "berth apply -f FILE" a workload',
  rollback: '"berth rollout undo deployment/NAME" goes back to the revision before',
  alloc: showsPods,
  plan: '"berth diff -f FILE" shows what would change, "berth simulate -f FILE" where pods would go',
  validate: '"berth apply --dry-run=server -f FILE" validates a manifest',
  monitor: '"berth events -A --watch" shows what happens, "berth top" resource usage',
  ui: 'there is none; those of Kubernetes work, with the kubeconfig of "berth kubeconfig --merge"',
  dashboard: 'there is none; those of Kubernetes work, with the kubeconfig of "berth kubeconfig --merge"',
  // words that are close at hand
  sh: opensShell,
  bash: opensShell,
  shell: opensShell,
  ssh: `${opensShell}, "berth debug node/NAME -it --image=IMAGE" one on a node`,
  deploy: '"berth apply -f FILE" creates what manifests describe, "berth create deployment NAME --image=IMAGE" one workload',
  list: '"berth get TYPE" lists objects, "berth api-resources" the types',
  show: '"berth get TYPE NAME" and "berth describe TYPE NAME" show an object',
  tail: '"berth logs -f POD" follows what a container writes',
  update: '"berth apply -f FILE" changes objects, "berth set image" and "berth set resources" a workload',
  remove: '"berth delete TYPE NAME" deletes an object; "berth uninstall" removes the service of this machine',
  check: '"berth net check" looks at the network, "berth cluster-info" at the cluster, "berth why TYPE/NAME" at an object',
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

/**
 * The error for a word that is no command: what does the work instead, or the command that was probably meant. `plural`
 * is the word's kind, where it names one.
 */
export function unknownCommand(word: string, known: readonly string[], plural?: string): Error {
  if (Object.hasOwn(insteadOfKubectl, word)) return badRequest(`"berth ${word}" is not there; ${insteadOfKubectl[word]}`);
  if (Object.hasOwn(elsewhere, word)) return badRequest(`unknown command '${word}'; ${elsewhere[word]}`);
  if (plural !== undefined) return badRequest(`unknown command '${word}'; "berth get ${plural}" lists them`);
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
