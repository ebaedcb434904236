import { nameColumn } from '../../api/kinds/cells.ts';

/**
 * What the columns of Berth's tables show, by their names; names, ages and the columns of custom kinds describe
 * themselves (`Column.description`).
 */
const descriptions: Readonly<Record<string, string>> = {
  ...{
    STATUS: 'The state of the object, in a word or two.',
    TYPE: 'The type of the object.',
    REASON: 'Why the object is in this state, in one word.',
    MESSAGE: 'The same in a sentence.',
    ERROR: 'What went wrong, if anything did.',
    VERSION: 'The version of the software that runs there.',
    'CREATED AT': 'When the object was made, as a time.',
    CONDITION: 'The conditions that are true, or <none>.',
    DATA: 'How many entries the object holds.',
    CONTROLLER: 'The controller that is responsible for the object.',
    PARAMETERS: 'The object with the settings of the controller.',
    HANDLER: 'The handler of the runtime that runs the pods.',
    SERVICE: 'The Service that answers for the group, or Local.',
    AVAILABLE: 'How many pods, or whether the service, can be used.',
  },
  // Nodes, and what is used.
  ...{
    ROLES: 'The roles that the labels of the node name.',
    'INTERNAL-IP': 'The address of the node within the cluster.',
    'EXTERNAL-IP': 'The addresses from outside of the cluster, or <none>.',
    'OS-IMAGE': 'The operating system, as the node reports it.',
    'KERNEL-VERSION': 'The version of the kernel, as the node reports it.',
    'CONTAINER-RUNTIME': 'The container runtime and its version.',
    CPU: 'How much processor time is used.',
    MEMORY: 'How much memory is used.',
    WINDOW: 'The time over which the use was measured.',
    PODS: 'How many pods there are.',
    ADDRESSES: 'The addresses that are listed.',
    'POD-CIDRS': 'The ranges of which the pods of the node have their addresses.',
  },
  // Pods and workloads.
  ...{
    READY: 'How many are ready, of all or of those that are wanted.',
    RESTARTS: 'How often containers were started again, and when the last time was.',
    IP: 'The address of the pod.',
    NODE: 'The node where the object belongs.',
    'NOMINATED NODE': 'The node where room is being made for the pod.',
    'READINESS GATES': 'How many of the conditions that the pod waits for are true.',
    CONTAINERS: 'The names of the containers.',
    IMAGES: 'The images of the containers, in the same order.',
    'POD LABELS': 'The labels that pods of the template get.',
    DESIRED: 'How many pods are wanted.',
    CURRENT: 'How many pods there are.',
    SELECTOR: 'The labels by which pods are found.',
    'NODE SELECTOR': 'The labels of the nodes that get a pod.',
    'UP-TO-DATE': 'How many pods are of the newest template.',
    REVISION: 'The number of the revision; the newest has the greatest.',
    COMPLETIONS: 'How many pods have succeeded, and how many have to.',
    DURATION: 'How long the job has run, or ran.',
    SCHEDULE: 'When jobs are made, as a cron expression.',
    TIMEZONE: 'The time zone of the schedule; <none> is that of the controllers.',
    SUSPEND: 'Whether no more jobs are made for the present.',
    ACTIVE: 'How many jobs run.',
    'LAST SCHEDULE': 'How long ago the last job was due.',
    REFERENCE: 'The object that is scaled.',
    TARGETS: 'What each metric is now, and what it should be.',
    MINPODS: 'The least number of pods.',
    MAXPODS: 'The greatest number of pods.',
    REPLICAS: 'How many pods the scaled object has.',
    'MIN AVAILABLE': 'How many pods have to stay available.',
    'MAX UNAVAILABLE': 'How many pods may be unavailable.',
    'ALLOWED DISRUPTIONS': 'How many pods may be evicted now.',
    VALUE: 'The priority as a number; greater comes first.',
    'GLOBAL-DEFAULT': 'Whether pods without a class get this one.',
    PREEMPTIONPOLICY: 'Whether pods of the class may take the place of others.',
    HOLDER: 'Who holds the lease.',
  },
  // Networks.
  ...{
    'CLUSTER-IP': 'The address of the Service within the cluster.',
    'PORT(S)': 'The ports of the Service, with their node ports and protocols.',
    ADDRESSTYPE: 'The type of the addresses in the slice.',
    PORTS: 'The ports that can be reached.',
    ENDPOINTS: 'The addresses behind the Service.',
    'POD-SELECTOR': 'The labels of the pods that the policy is about.',
    CLASS: 'The class of the controller that serves the object.',
    HOSTS: 'The hosts that the rules name; * is all.',
    ADDRESS: 'Where the controller serves the object.',
    CIDRS: 'The ranges of addresses.',
    PARENTREF: 'The object that has the address.',
  },
  // Limits and storage.
  ...{
    REQUEST: 'What requests use, and how much they may.',
    LIMIT: 'What limits use, and how much they may.',
    CAPACITY: 'How much fits in.',
    'ACCESS MODES': 'How nodes and pods may mount the volume.',
    'RECLAIM POLICY': 'What becomes of the volume when its claim is gone.',
    RECLAIMPOLICY: 'What becomes of a volume when its claim is gone.',
    CLAIM: 'The claim that has the volume.',
    VOLUME: 'The volume that the claim has.',
    STORAGECLASS: 'The storage class.',
    STORAGECLASSNAME: 'The storage class.',
    VOLUMEATTRIBUTESCLASS: 'The class of attributes of the volume.',
    VOLUMEMODE: 'Whether the volume is a file system or a block device.',
    PROVISIONER: 'The driver that makes the volumes.',
    VOLUMEBINDINGMODE: 'Whether a claim gets its volume at once, or with its first pod.',
    ALLOWVOLUMEEXPANSION: 'Whether volumes may grow.',
    ATTACHREQUIRED: 'Whether volumes are attached before they are mounted.',
    PODINFOONMOUNT: 'Whether the driver is told of the pod.',
    STORAGECAPACITY: 'Whether the driver reports how much room it has.',
    TOKENREQUESTS: 'The audiences of the tokens that the driver gets.',
    REQUIRESREPUBLISH: 'Whether the driver is called again while a volume is mounted.',
    MODES: 'How volumes of the driver come to be.',
    DRIVERS: 'How many drivers the node has.',
    ATTACHER: 'The driver that attaches the volume.',
    PV: 'The volume that is attached.',
    ATTACHED: 'Whether the volume is attached.',
  },
  // Access and admission.
  ...{
    SECRETS: 'How many Secrets the account names.',
    ROLE: 'The role that is bound.',
    USERS: 'The users that get the role.',
    GROUPS: 'The groups that get the role.',
    SERVICEACCOUNTS: 'The service accounts that get the role.',
    SIGNERNAME: 'The signer of the certificate.',
    REQUESTOR: 'The user that made the request.',
    REQUESTEDDURATION: 'How long the certificate should be good.',
    VALIDATIONS: 'How many validations the policy has.',
    PARAMKIND: 'The kind of the parameters.',
    POLICYNAME: 'The policy that is bound.',
    PARAMREF: 'The parameters.',
    WEBHOOKS: 'How many webhooks are called.',
    PRIORITYLEVEL: 'The priority level of the requests.',
    MATCHINGPRECEDENCE: 'The order among the schemas; the least is looked at first.',
    DISTINGUISHERMETHOD: 'What divides the requests into flows.',
    MISSINGPL: 'Whether the priority level is missing.',
    NOMINALCONCURRENCYSHARES: 'The share of the concurrent requests.',
    QUEUES: 'How many queues there are.',
    HANDSIZE: 'How many queues a flow may be put into.',
    QUEUELENGTHLIMIT: 'How many requests wait in a queue at most.',
  },
  // Events.
  ...{
    'LAST SEEN': 'How long ago the event was last observed.',
    'FIRST SEEN': 'How long ago the event was first observed.',
    OBJECT: 'The object that the event is about.',
    SUBOBJECT: 'The part of the object that the event is about.',
    SOURCE: 'Where the event was observed.',
    COUNT: 'How often the event was observed.',
  },
};

/** What a column of one of Berth's own kinds shows; "" for a name that none of them has. */
export const columnDescription = (name: string): string => (Object.hasOwn(descriptions, name) ? descriptions[name]! : '');

/** The columns of texts of a table that is made without a kind; the first is the name. */
export const textColumns = (...names: readonly string[]): readonly object[] =>
  names.map((name, index) => {
    const description = name === 'Name' ? nameColumn.description : columnDescription(name.toUpperCase());
    return { name, type: 'string', format: index === 0 ? 'name' : '', description, priority: 0 };
  });

/** The names that have a description. */
export const describedColumns: readonly string[] = Object.keys(descriptions);
