/** Label keys that controllers of workloads put on what they own: Kubernetes' names, which tools read. */
export const workloadLabels = {
  /** On ReplicaSets of a Deployment and their pods: the hash of the template. */
  podTemplateHash: 'pod-template-hash',
  /** On pods of StatefulSets and DaemonSets, and on ControllerRevisions: the revision that they are of. */
  controllerRevisionHash: 'controller-revision-hash',
  /** On ControllerRevisions of a StatefulSet: the hash in their name. */
  revisionHash: 'controller.kubernetes.io/hash',
  /** On pods of a StatefulSet: the pod's name, and its ordinal. */
  statefulSetPodName: 'statefulset.kubernetes.io/pod-name',
  podIndex: 'apps.kubernetes.io/pod-index',
  /** On pods of a DaemonSet, beside the hash: the older way to name a revision. */
  templateGeneration: 'pod-template-generation',
  /** On a Job's pods: whose they are. The ones without a prefix are the older way. */
  jobName: 'batch.kubernetes.io/job-name',
  legacyJobName: 'job-name',
  controllerUid: 'batch.kubernetes.io/controller-uid',
  legacyControllerUid: 'controller-uid',
  /** On pods of an Indexed Job: the index, as the annotation says it, too. */
  completionIndex: 'batch.kubernetes.io/job-completion-index',
} as const;

/** Annotation keys of workloads. */
export const workloadAnnotations = {
  /** On a Deployment and its ReplicaSets: which revision, from "1". */
  revision: 'deployment.kubernetes.io/revision',
  /** On a ReplicaSet: revisions that it was before it was rolled back to, with commas between. */
  revisionHistory: 'deployment.kubernetes.io/revision-history',
  /** On a ReplicaSet of a Deployment: replicas wanted in all when it was scaled last, for proportional scaling. */
  desiredReplicas: 'deployment.kubernetes.io/desired-replicas',
  /** On a ReplicaSet of a Deployment: the most replicas allowed in all, with the surge. */
  maxReplicas: 'deployment.kubernetes.io/max-replicas',
  /** What a person says of a change; `rollout history` shows it. */
  changeCause: 'kubernetes.io/change-cause',
  /** On the template: `rollout restart` writes the time. */
  restartedAt: 'kubectl.kubernetes.io/restartedAt',
  /** On a pod: how dear it is, compared with others of its owner; a whole number of 32 bits. */
  podDeletionCost: 'controller.kubernetes.io/pod-deletion-cost',
  /** On a pod of an Indexed Job: its index. */
  completionIndex: 'batch.kubernetes.io/job-completion-index',
  /** On a pod: failures of its index so far, with a limit for each index. */
  indexFailureCount: 'batch.kubernetes.io/job-index-failure-count',
  indexIgnoredFailureCount: 'batch.kubernetes.io/job-index-ignored-failure-count',
  /** On a Job of a CronJob: the time that it was due, RFC 3339. */
  cronJobScheduledTimestamp: 'batch.kubernetes.io/cronjob-scheduled-timestamp',
  /** On a Job that a person made of a CronJob. */
  cronJobInstantiate: 'cronjob.kubernetes.io/instantiate',
  /** On a DaemonSet and its ControllerRevisions: the older way to number revisions. */
  templateGeneration: 'deprecated.daemonset.template.generation',
  /** On a ControllerRevision, Berth's own: "true" once a pod of it has been ready. */
  hasBeenReady: 'berth.io/has-been-ready',
  /** On a Deployment, Berth's own: the hash of the template to which it was rolled back by itself. */
  rolledBackTo: 'berth.io/rolled-back-to',
  /** On a Deployment, Berth's own: "true" rolls back by itself when the progress deadline passes. */
  rollbackOnDeadline: 'berth.io/rollback-on-deadline',
} as const;

/** On pods of a Job until the Job's status counts them. */
export const jobTrackingFinalizer = 'batch.kubernetes.io/job-tracking';
