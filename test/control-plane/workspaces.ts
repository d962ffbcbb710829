import { type ApiClient, ApiError, type KubeObject } from './api-client.ts';
import { waitFor } from './wait-for.ts';

export interface WorkspaceObject extends KubeObject {
  status?: { phase?: string; runtime?: { nodeName?: string } };
}

export interface WorkspaceRef {
  readonly name: string;
  /** Defaults to `default`. */
  readonly namespace?: string;
}

export interface NewWorkspace extends WorkspaceRef {
  /** Whether it has the finalizer with which Gitpod keeps it until its backup is done. */
  readonly finalizer?: boolean;
}

const group = 'workspace.gitpod.io';
const crdPath = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/workspaces.${group}`;
const finalizers = ['gitpod.io/finalizer'];

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const number = { type: 'integer' };
const moment = { type: 'string', format: 'date-time' };

function oneOf(...values: string[]): object {
  return { type: 'string', enum: values };
}

function object(properties: Record<string, object>, required: string[] = Object.keys(properties)): object {
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}) };
}

const variables = { type: 'array', items: object({ name: text, value: text }, ['name']) };
const spec = object(
  {
    admission: object({ level: { ...oneOf('Owner', 'Everyone'), default: 'Owner' } }),
    class: text,
    git: object({ username: text, email: text }),
    image: object({
      ide: object({ web: text, supervisor: text, refs: texts }, ['web', 'supervisor']),
      workspace: object({ ref: text }, []),
    }),
    initializer: { type: 'string', format: 'byte' },
    ownership: object({ owner: text, workspaceID: text, team: text, tenant: text }, ['owner', 'workspaceID']),
    ports: {
      type: 'array',
      items: object({ port: { ...number, format: 'int32' }, protocol: oneOf('Http', 'Https'), visibility: text }, [
        'port',
      ]),
    },
    sshGatewayCAPublicKey: text,
    sshPublicKeys: texts,
    storageQuota: number,
    sysEnvVars: variables,
    timeout: object({ time: text, closed: text, maximumLifetime: text }, []),
    type: oneOf('Regular', 'Prebuild', 'ImageBuild'),
    userEnvVars: variables,
    workspaceLocation: text,
  },
  ['admission', 'class', 'image', 'initializer', 'ownership', 'ports', 'type', 'workspaceLocation'],
);
const phases = ['Unknown', 'Pending', 'Imagebuild', 'Creating', 'Initializing', 'Running', 'Stopping', 'Stopped'];
const status = object(
  {
    podStarts: number,
    phase: { ...oneOf(...phases), default: 'Unknown' },
    runtime: object({ nodeName: text, podName: text, podIP: text, hostIP: text }, []),
    conditions: {
      type: 'array',
      items: object({ type: text, status: text, reason: text, message: text, lastTransitionTime: moment }),
    },
    lastActivity: moment,
    ownerToken: text,
    podDeletionTime: moment,
    podRecreated: number,
    podStoppingTime: moment,
    snapshot: text,
    storage: object({ volumeName: text, attachedDevice: text, mountPath: text }, []),
    url: text,
  },
  ['podStarts'],
);

function column(name: string, jsonPath: string, more: object = {}): object {
  return { name, jsonPath, type: 'string', ...more };
}

/** Gitpod's Workspace as its API server describes it, in what the coordinator and people see of it. */
const workspaceCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `workspaces.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: {
      kind: 'Workspace',
      listKind: 'WorkspaceList',
      plural: 'workspaces',
      singular: 'workspace',
      shortNames: ['ws'],
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          column('Workspace', '.spec.ownership.workspaceID', { priority: 10 }),
          column('Class', '.spec.class'),
          column('Type', '.spec.type'),
          column('Node', '.status.runtime.nodeName'),
          column('Owner', '.spec.ownership.owner'),
          column('Team', '.spec.ownership.team'),
          column('Phase', '.status.phase'),
          column('Age', '.metadata.creationTimestamp', { type: 'date' }),
        ],
        schema: { openAPIV3Schema: object({ spec, status }, []) },
      },
    ],
  },
};

/** Installs the CRD and waits until Workspaces are served. */
export async function installWorkspaceCrd(client: ApiClient): Promise<void> {
  await client.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', workspaceCrd);
  await waitFor('Workspaces to be served', async () => (await client.list(workspacesPath('default'))).length === 0);
}

/** Removes the CRD, and every Workspace with it. Waits until it is gone. */
export async function removeWorkspaceCrd(client: ApiClient): Promise<void> {
  await client.delete(crdPath);
  await waitFor('the CRD to be gone', () => isGone(client.get(crdPath)), { timeoutMs: 30_000 });
}

function workspacesPath(namespace: string): string {
  return `/apis/${group}/v1/namespaces/${namespace}/workspaces`;
}

function pathOf({ name, namespace = 'default' }: WorkspaceRef): string {
  return `${workspacesPath(namespace)}/${name}`;
}

async function isGone(answer: Promise<unknown>): Promise<boolean> {
  return answer.then(
    () => false,
    (error: unknown) => error instanceof ApiError && error.status === 404,
  );
}

export function listWorkspaces(client: ApiClient, namespace = 'default'): Promise<WorkspaceObject[]> {
  return client.list<WorkspaceObject>(workspacesPath(namespace));
}

/** Creates a Workspace without a status, as Gitpod does: it is on no node yet. */
export function createWorkspace(client: ApiClient, workspace: NewWorkspace): Promise<WorkspaceObject> {
  const { name, namespace = 'default', finalizer = false } = workspace;
  return client.post<WorkspaceObject>(workspacesPath(namespace), {
    apiVersion: `${group}/v1`,
    kind: 'Workspace',
    metadata: { name, namespace, ...(finalizer ? { finalizers } : {}) },
    spec: {
      admission: { level: 'Owner' },
      class: 'default',
      image: { ide: { web: 'none', supervisor: 'none' }, workspace: { ref: 'none' } },
      initializer: 'bm9uZQ==',
      ownership: { owner: 'somebody', workspaceID: name },
      ports: [],
      type: 'Regular',
      workspaceLocation: '/workspace',
    },
  });
}

/** Merges fields into the status; null takes one out. */
export function setWorkspaceStatus(
  client: ApiClient,
  workspace: WorkspaceRef,
  fields: object,
): Promise<WorkspaceObject> {
  return client.patch<WorkspaceObject>(`${pathOf(workspace)}/status`, { status: { podStarts: 1, ...fields } });
}

/** Says which node a Workspace runs on. `undefined`: the runtime is gone, as when its pod has to be made anew. */
export function setWorkspaceNode(
  client: ApiClient,
  workspace: WorkspaceRef,
  nodeName: string | undefined,
): Promise<WorkspaceObject> {
  const fields = nodeName === undefined ? { runtime: null } : { phase: 'Running', runtime: { nodeName } };
  return setWorkspaceStatus(client, workspace, fields);
}

/** Deletes a Workspace. One with the finalizer stays, terminating, until {@link finishWorkspace}. */
export function deleteWorkspace(client: ApiClient, workspace: WorkspaceRef): Promise<void> {
  return client.delete(pathOf(workspace));
}

/** Takes the finalizer off, as Gitpod does when the backup is done. */
export async function finishWorkspace(client: ApiClient, workspace: WorkspaceRef): Promise<void> {
  await client.patch(pathOf(workspace), { metadata: { finalizers: null } });
}
